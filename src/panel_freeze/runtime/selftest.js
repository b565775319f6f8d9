// A page that tests itself, in any browser: open it with ?selftest. It moves a control of every figure, watches the
// readouts change and come back, and shows what it found; with ?selftest=report it also posts that to the server it
// came from, to the path "selftest-report" in the site's own folder.

import { deep } from './show.js';

const root = document.documentElement;
const started = performance.now();
/** @type {Record<string, number>} */
const times = {};
document.addEventListener('figurestate', (event) => {
  const { figure, state } = /** @type {CustomEvent} */ (event).detail;
  times[`${figure} ${state}`] ??= Math.round(performance.now());
});

/** @param {string} report where to post the result, or nothing */
export async function selfTest(report) {
  const place = document.createElement('pre');
  place.className = 'selftest';
  place.textContent = 'Testing …';
  document.body.prepend(place);
  document.dispatchEvent(new Event('drawfigures'));
  const ended = (/** @type {Element} */ figure) => ['live', 'failed'].includes(figure.getAttribute('data-state') ?? '');
  await until(() => root.dataset.figures === 'failed' || [...document.querySelectorAll('figure[data-figure]')].every(ended), 120_000);
  /** @type {Record<string, any>} */
  const figures = {};
  for (const element of document.querySelectorAll('figure[data-figure]')) {
    const figure = /** @type {HTMLElement} */ (element);
    figures[String(figure.dataset.figure)] = await tryFigure(figure).catch((error) => ({ failed: String(error) }));
  }
  const result = {
    passed: Object.values(figures).every(({ failed }) => !failed),
    boot: root.dataset.boot,
    fallback: root.dataset.fallback,
    agent: navigator.userAgent,
    seconds: (performance.now() - started) / 1000,
    times,
    figures,
  };
  place.textContent = JSON.stringify(result, null, 1);
  place.dataset.passed = String(result.passed);
  if (report) await fetch(report, { method: 'POST', body: JSON.stringify(result) });
}

/** @param {HTMLElement} figure */
async function tryFigure(figure) {
  if (figure.dataset.state !== 'live') throw new Error(`It is ${figure.dataset.state}: ${figure.querySelector('.trouble')?.textContent}`);
  const before = readouts(figure);
  const choice = /** @type {HTMLInputElement | undefined} */ (
    deep(figure, 'input[type=radio]:enabled:not(:checked), input[type=checkbox]:enabled')[0]);
  if (!choice) throw new Error('It has no choice to make.');
  const moved = performance.now();
  choice.click();
  await until(() => readouts(figure) !== before, 20_000);
  const milliseconds = Math.round(performance.now() - moved);
  /** @type {HTMLElement} */ (figure.querySelector('[data-action=reset]')).click();
  await until(() => readouts(figure) === before, 20_000);
  return { milliseconds };
}

/** @param {HTMLElement} figure */
function readouts(figure) {
  return deep(figure, '[data-readout]').map((element) => `${element.getAttribute('data-readout')}=${element.getAttribute('data-value')}`).join('\n');
}

/**
 * @param {() => boolean} condition
 * @param {number} limit in milliseconds
 */
async function until(condition, limit) {
  const end = performance.now() + limit;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`This did not come true in ${limit / 1000} s: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
