// The page's side: finds the figures, paints them, starts the one worker, and carries messages both ways.
import { DownloadError, bytes } from './download.js';
import { readQuery, withQuery, writeNow, writeQuery } from './address.js';
import { coldIsSooner, reader, remember, startsCold } from './choice.js';
import { followReader } from './contents.js';
import { Figure } from './figure.js';
import { keepInk } from './ink.js';
import { nameControls } from './names.js';
import { Queue } from './queue.js';

const root = document.documentElement;
const site = JSON.parse(/** @type {HTMLElement} */ (document.getElementById('site')).textContent ?? '');
const base = new URL(site.root, location.href);
/** @param {string} path */
const address = (path) => new URL(path, base).href;

/** @type {Map<string, Figure>} */
const figures = new Map();
/** @type {Set<string>} figures whose Python answers */
const ready = new Set();
/** @type {Worker | null} */
let worker = null;
const memory = site.snapshots.other?.url ?? '';
const known = reader(memory);
/** Whether Python starts from its parts, though a saved memory is there. */
let cold = startsCold(known, site.bytes);
const wanted = new URLSearchParams(location.search).get('boot');
if (wanted === 'cold' || wanted === 'resumed') cold = wanted === 'cold';
/** @type {Set<string>} figures whose Python was lost after they had answered */
const lost = new Set();
/** Milliseconds that a restored Python has to answer. */
const PATIENCE = 20_000;
let watchdog = 0;
/** @type {Promise<any> | null} */
let bokeh = null;

const page = {
  Bokeh: /** @type {any} */ (null),
  send: (/** @type {string} */ figure, /** @type {string} */ kind, /** @type {any} */ content) =>
    queue.add({ figure, kind, content }),
  again,
  localise,
  pending: (/** @type {string} */ figure, /** @type {string} */ model, /** @type {string} */ attr) =>
    queue.pending(figure, model, attr),
};
const queue = new Queue((message) => worker?.postMessage(message), (figure) => ready.has(figure));

function begin() {
  root.dataset.figures = 'starting';
  if (site.boot !== 'none') startWorker();
  paintInTurn([...figures.values()]);
}

// Painting: BokehJS draws what the build saved, before Python is there.

/**
 * One after the other, so that the first figure need not wait for the last; their documents come together. Once the
 * first is shown, no figure waits for the frames of the one before it.
 * @param {Figure[]} inTurn
 */
async function paintInTurn(inTurn) {
  const texts = inTurn.map((figure) => fetchText(address(figure.settings.document)));
  for (const text of texts) text.catch(() => {}); // awaited below, in turn
  for (const [i, figure] of inTurn.entries()) {
    await new Promise((next) => { paint(figure, texts[i], i ? next : undefined).then(next); });
    await new Promise((next) => { setTimeout(next); }); // what the reader does comes in between
  }
}

/**
 * @param {Figure} figure
 * @param {Promise<string>} [document] the build's document, as text
 * @param {(_: any) => void} [drawn] called once it is drawn, before it is shown
 */
async function paint(figure, document = fetchText(address(figure.settings.document)), drawn) {
  if (figure.document || drawing.has(figure)) return;
  drawing.add(figure);
  try {
    const [text] = await Promise.all([document, loadBokeh()]);
    await draw(figure, text, drawn);
    if (ready.has(figure.name)) goLive(figure);
  } catch (error) {
    const why = error instanceof DownloadError ? ` ${error.message}` : '';
    failed({ figure: figure.name, reason: `Figure ${figure.name} could not be drawn.${why}`, details: describe(error) });
  } finally {
    drawing.delete(figure);
  }
}

/**
 * @param {Figure} figure
 * @param {string} text a document, as JSON
 * @param {(_: any) => void} [drawn]
 */
async function draw(figure, text, drawn) {
  await figure.paint(JSON.parse(localise(text)), drawn);
  nameControls(figure.stage);
}
/** @type {Set<Figure>} figures that are being drawn */
const drawing = new Set();

function loadBokeh() {
  bokeh ??= site.scripts
    .map((/** @type {string} */ path) => loadScript(address(path)))
    .reduce((/** @type {Promise<any>} */ before, /** @type {Promise<any>} */ script) => before.then(() => script), Promise.resolve())
    .then(() => { page.Bokeh = /** @type {any} */ (window).Bokeh; page.Bokeh.set_log_level('warn'); });
  return bokeh;
}

/** @param {string} url */
function loadScript(url) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = url;
    script.async = false;
    script.onload = resolve;
    script.onerror = () => reject(new DownloadError(`The script ${url.split('/').pop()} is missing on this site or blocked.`));
    document.head.append(script);
  });
}

/** @param {string} url */
async function fetchText(url) {
  return new TextDecoder().decode(await bytes(url));
}

/**
 * Addresses of Panel's style sheets stand in documents under a name of the build's; here they become this site's.
 * @param {string} text
 */
function localise(text) {
  return text.replace(/https:\/\/freeze\.invalid\/(?:[\w.-]+\/dist\/)?([\w./@^~+-]+)/g, (_, path) => address(site.styles[path] ?? `missing/${path}`));
}

// Python: one worker for all figures.

function startWorker() {
  worker?.terminate();
  clearTimeout(watchdog);
  ready.clear();
  queue.reset();
  const early = /** @type {any} */ (window).earlyPython;
  delete (/** @type {any} */ (window).earlyPython);
  worker = /** @type {Worker} */ (early?.worker ?? new Worker(address(site.worker), { type: 'module', name: 'python' }));
  worker.onmessage = ({ data }) => receive(typeof data === 'string' ? JSON.parse(localise(data)) : data);
  worker.onerror = broke;
  if (early?.error) return broke(early.error);
  worker.postMessage({
    kind: 'start',
    parts: addresses(site.parts),
    snapshots: cold ? {} : addresses(site.snapshots),
    late: address(site.late),
    environment: site.environment,
    figures: [...figures.values()].map(({ settings: { name, module, number, root: id } }) => ({ name, module, number, root: id })),
  });
  progress.start();
}

/** @param {ErrorEvent} event an error that the worker's script has not caught */
function broke(event) {
  event.preventDefault();
  const details = `${event.message ?? ''} ${event.filename ?? ''}`.trim();
  if (!cold) startAgainCold(details || 'the worker script failed');
  else failed({ figure: null, reason: 'Python could not start: the worker script failed.', details });
}

/**
 * What a restored memory cannot do, or not soon enough, a fresh start can; figures that had answered are drawn anew and get their state
 * from the address.
 * @param {string} reason
 */
function startAgainCold(reason) {
  console.info(`Python is not resumed but starts cold: ${reason}`);
  root.dataset.fallback = reason;
  cold = true;
  for (const name of ready) lost.add(name);
  startWorker();
}

/**
 * Paths of files made addresses, at any depth.
 * @param {any} value
 * @returns {any}
 */
function addresses(value) {
  if (typeof value === 'string') return value.startsWith('assets/') ? address(value) : value;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, addresses(inner)]));
}

/** @param {any} message */
function receive(message) {
  const figure = figures.get(message.figure);
  switch (message.kind) {
    case 'progress': return progress.add(message.bytes);
    case 'stage': return progress.say('Python is starting … loading its libraries');
    case 'restored':
      watchdog = setTimeout(() => startAgainCold('it did not answer'), PATIENCE);
      return undefined;
    case 'failed': return failed(message);
    case 'fallback': return startAgainCold(message.reason);
    case 'ready': return linked(/** @type {Figure} */ (figure), message.built);
    case 'patch': return figure?.apply(message.patch);
    case 'query': return writeQuery(message.figure, message.query);
    case 'error':
      if (message.seq !== null) erring.add(message.figure);
      return figure?.trouble(`Figure ${message.figure} could not work this out; its last state stays. (${message.reason})`, message.details);
    case 'done':
      if (!erring.delete(message.figure)) figure?.calm();
      queue.done(message.seq);
      return arrive();
    default: return undefined;
  }
}
/** @type {Set<string>} figures whose message in progress has failed */
const erring = new Set();

/**
 * @param {Figure} figure
 * @param {any} built
 */
async function linked(figure, built) {
  clearTimeout(watchdog);
  ready.add(figure.name);
  root.dataset.boot = built.resumed ? 'resumed' : 'cold';
  if (built.resumed) remember(memory);
  if (!figure.document) return; // it goes live once it is drawn
  const stale = lost.delete(figure.name);
  if (stale) {
    writeNow();
    page.send(figure.name, 'query', readQuery(figure.name));
  }
  if (stale || built.roots[0] !== figure.json.roots[0].id) await draw(figure, JSON.stringify(built.doc));
  goLive(figure);
}

/** @param {Figure} figure */
function goLive(figure) {
  figure.calm();
  queue.flush();
  arrive();
}

/** A figure that answers is live once it has taken what was waiting for it: a link, early input. */
function arrive() {
  for (const figure of figures.values()) {
    if (figure.state === 'painted' && ready.has(figure.name) && !queue.holds(figure.name)) figure.enter('live');
  }
  settle();
}

/** @param {{ figure: string | null, reason: string, details: string }} message */
function failed({ figure, reason, details }) {
  for (const each of figure ? [figures.get(figure)] : figures.values()) {
    if (!each || each.state === 'live') continue;
    each.enter('failed');
    each.trouble(reason, details);
  }
  settle();
}

function settle() {
  const states = [...figures.values()].map((figure) => figure.state);
  if (states.every((state) => state === 'live')) {
    root.dataset.figures = 'live';
    // What Python may want later comes once nothing waits for the line.
    worker?.postMessage({ kind: 'background' });
  }
  else if (!states.some((state) => state === 'picture' || state === 'painted')) root.dataset.figures = 'failed';
  else return;
  progress.end();
}

/** @param {string} name */
function again(name) {
  // A library that ran without the one before it is spoilt; a fresh page runs them in order.
  if (!page.Bokeh) return location.reload();
  // While nothing lives in the worker, trying again is for all figures.
  const alone = ready.size > 0;
  for (const figure of figures.values()) {
    if (figure.state !== 'failed' || (alone && figure.document && figure.name !== name)) continue;
    figure.calm();
    figure.enter(figure.document ? 'painted' : 'picture');
    paint(figure);
    const { module, number } = figure.settings;
    if (alone) worker?.postMessage({ kind: 'build', figure: { name: figure.name, module, number } });
  }
  root.dataset.figures = 'starting';
  if (!alone) startWorker();
}

/** @param {any} error */
function describe(error) {
  return String(error?.stack ?? error);
}

// One quiet line by the first figure.
const progress = {
  line: document.querySelector('.starting'),
  bytes: 0,
  since: 0, // when Python had the line for itself, in milliseconds, and what had come by then
  before: 0,
  start() {
    this.bytes = 0;
    this.since = 0;
    this.say('Python is starting …');
  },
  /** @param {number} bytes */
  add(bytes) {
    this.bytes += bytes;
    if (!cold && wanted !== 'resumed' && page.Bokeh && this.slow()) return startAgainCold('the line is slow');
    const mega = (/** @type {number} */ n) => (n / 1e6).toFixed(1);
    const all = site.bytes[cold ? 'cold' : 'resumed'];
    this.say(`Python is starting … ${mega(Math.min(this.bytes, all))} of ${mega(all)} MB`);
  },
  slow() {
    const now = performance.now();
    if (!this.since) [this.since, this.before] = [now, this.bytes];
    const watched = { bytes: this.bytes - this.before, seconds: (now - this.since) / 1000 };
    return coldIsSooner(this.bytes, watched, known, site.bytes);
  },
  /** @param {string} text */
  say(text) {
    if (this.line && this.line.textContent !== text) this.line.textContent = text;
  },
  end() {
    this.say('');
  },
};

// Links in the text that set a figure's state, and the small menu under each figure.
document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const link = target?.closest('a[href]');
  if (link instanceof HTMLAnchorElement && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.shiftKey) follow(link, event);
  const action = target?.closest('[data-action]');
  const name = action?.closest('figure')?.getAttribute('data-figure');
  if (action instanceof HTMLElement && name) act(action, name);
});

/**
 * @param {HTMLAnchorElement} link
 * @param {Event} event
 */
function follow(link, event) {
  // What the link itself says: a mere anchor would inherit the query of the address.
  const url = new URL(link.getAttribute('href') ?? '', location.href.split(/[?#]/)[0]);
  if (url.origin !== location.origin || url.pathname !== location.pathname) return;
  const named = [...figures.keys()].filter((name) => readQuery(name, url.search).length || link.dataset.scene === name);
  if (!named.length) return;
  event.preventDefault();
  for (const name of named) page.send(name, 'query', readQuery(name, url.search));
  figures.get(named[0])?.element.scrollIntoView({ block: 'start' });
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 */
async function act(element, name) {
  if (element.dataset.action === 'reset') page.send(name, 'query', []);
  writeNow();
  if (element.dataset.action === 'copy-link') {
    const link = new URL(withQuery(name, Object.fromEntries(readQuery(name))));
    link.hash = name;
    await navigator.clipboard.writeText(link.href);
    const said = element.textContent;
    element.textContent = 'Copied';
    setTimeout(() => { element.textContent = said; }, 1500);
  }
  if (element.dataset.action === 'open-alone') {
    location.href = withQuery(name, Object.fromEntries(readQuery(name)), address(`figures/${name}/index.html`));
  }
}

for (const settings of site.figures) {
  const element = document.querySelector(`figure[data-figure="${settings.name}"]`);
  if (element instanceof HTMLElement) figures.set(settings.name, new Figure(element, settings, page));
}
for (const { name } of figures.values()) {
  const query = readQuery(name);
  if (query.length) page.send(name, 'query', query);
}
keepInk(figures);
followReader();
if (root.dataset.figures !== 'failed') begin();
const selfTest = new URLSearchParams(location.search).get('selftest');
if (selfTest !== null) {
  import('./selftest.js').then((module) => module.selfTest(selfTest === 'report' ? address('selftest-report') : ''));
}
