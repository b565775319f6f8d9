// Links in the text that set a figure's state, the address and its history, and the small menu under each figure.
import { forget, isElsewhere, readQuery, withQuery, writeNow } from './address.js';
import { bringIntoView, offerWayBack } from './show.js';

/**
 * @typedef {object} Context
 * @property {Map<string, import('./figure.js').Figure>} figures
 * @property {(path: string) => string} address of a file of the site
 * @property {(figure: string, kind: string, content: any) => void} send to Python, and outline what it changes
 */

/** @param {Context} context */
export function followLinks(context) {
  document.addEventListener('click', (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const link = target?.closest('a[href]');
    if (link instanceof HTMLAnchorElement && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      follow(link, event, context);
    }
    const action = target?.closest('[data-action]');
    const name = action?.closest('figure')?.getAttribute('data-figure');
    if (action instanceof HTMLElement && name) act(action, name, context);
  });
  // Back and Forward: the figures follow the address.
  addEventListener('popstate', () => {
    forget();
    for (const name of context.figures.keys()) if (isElsewhere(name)) context.send(name, 'query', readQuery(name));
  });
}

/**
 * @param {HTMLAnchorElement} link
 * @param {Event} event
 * @param {Context} context
 */
function follow(link, event, { figures, send }) {
  // What the link itself says: a mere anchor would inherit the query of the address.
  const url = new URL(link.getAttribute('href') ?? '', location.href.split(/[?#]/)[0]);
  if (url.origin !== location.origin || url.pathname !== location.pathname) return;
  writeNow();
  const named = [...figures.keys()].filter((name) => readQuery(name, url.search).length || link.dataset.scene === name);
  if (!named.length) return;
  event.preventDefault();
  let { href } = location;
  for (const name of named) href = withQuery(name, Object.fromEntries(readQuery(name, url.search)), href);
  if (href !== location.href) history.pushState(null, '', href);
  const element = /** @type {HTMLElement} */ (figures.get(named[0])?.element);
  offerWayBack(link);
  bringIntoView(element);
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  for (const name of named) send(name, 'query', readQuery(name, url.search));
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {Context} context
 */
async function act(element, name, { figures, address, send }) {
  if (element.dataset.action === 'reset') {
    send(name, 'query', []);
    bringIntoView(/** @type {HTMLElement} */ (figures.get(name)?.element));
  }
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
