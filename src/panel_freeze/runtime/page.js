// The page's side: finds the figures, paints them, starts the one worker, and carries messages both ways.
import { DownloadError, bytes } from './download.js';
import { readQuery, show, writeNow, writeQuery } from './address.js';
import { coldIsSooner, reader, remember, startsCold } from './way-to-start.js';
import { followReader } from './contents.js';
import { Figure } from './figure.js';
import { keepInk } from './print.js';
import { followLinks } from './links.js';
import { morph } from './morph.js';
import { nameControls } from './accessible-names.js';
import { Queue } from './queue.js';
import { inHand, listen, settle as settleFields } from './sets.js';
import { shareSheets } from './sheets.js';
import { bringIntoView, outline } from './show.js';

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
  pending: (/** @type {string} */ figure, /** @type {string} */ model, /** @type {string} */ attr, /** @type {number | null} */ seq) =>
    queue.pending(figure, model, attr, seq),
};

/**
 * Send something whose changes are outlined once they are there.
 * @param {string} name
 * @param {string} kind
 * @param {any} content
 */
function sendShown(name, kind, content) {
  queue.add({ figure: name, kind, content, sent: (seq) => figures.get(name)?.watched.set(seq, new Set()) });
}
const queue = new Queue((message) => worker?.postMessage(message), (figure) => ready.has(figure));

function begin() {
  root.dataset.figures = 'starting';
  if (site.boot !== 'none') startWorker();
  paintInTurn();
}

// Painting: BokehJS draws what the build saved, before Python is there.

const NEAR = 2; // screens

/** How many screens a figure is away from what the reader sees. @param {Figure} figure */
function away({ element }) {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.max(top - innerHeight, -bottom, 0) / (innerHeight || 1);
}

/** Whether a figure is to be drawn by now. @param {Figure} figure */
const isNear = (figure) => wholePage || site.boot === 'none' || away(figure) <= NEAR;
let wholePage = false;

/**
 * One figure after the other, the nearest to the screen first; those far away when the thread has nothing to do, or
 * when the reader comes near. Once the first is shown, none waits for the frames of the one before it.
 */
async function paintInTurn() {
  /** @type {Map<Figure, Promise<string>>} */
  const texts = new Map();
  const fetched = (/** @type {Figure} */ figure) => {
    const text = texts.get(figure) ?? fetchText(address(figure.settings.document));
    text.catch(() => {}); // awaited when it is drawn
    texts.set(figure, text);
    return text;
  };
  let first = true;
  for (;;) {
    const waiting = [...figures.values()].filter(({ state, document }) => state === 'picture' && !document).sort((a, b) => away(a) - away(b));
    if (!waiting.length) return;
    const near = waiting.filter(isNear);
    near.forEach(fetched);
    if (!near.length) {
      settle();
      await approach();
      if (!waiting.some(isNear) && root.dataset.figures === 'live') near.push(waiting[0]);
    }
    const [figure] = near;
    if (!figure) continue;
    await new Promise((next) => { paint(figure, fetched(figure), first ? undefined : next).then(next); });
    first = false;
    await new Promise((next) => { setTimeout(next); }); // what the reader does comes in between
  }
}

/** Wait until the reader comes near a figure that is not drawn, or until there is nothing else to do. */
function approach() {
  return new Promise((go) => {
    const ended = new AbortController();
    const end = () => { ended.abort(); go(null); };
    for (const name of ['scroll', 'resize']) addEventListener(name, end, { signal: ended.signal, passive: true });
    for (const name of ['drawfigures', 'figureslive']) document.addEventListener(name, end, { signal: ended.signal });
    // Not while Python starts: the figures at hand come first.
    if (root.dataset.figures === 'live') whenIdle(end);
  });
}

/** @param {() => void} action */
function whenIdle(action) {
  if ('requestIdleCallback' in window) requestIdleCallback(action, { timeout: 4000 });
  else setTimeout(action, 400);
}

document.addEventListener('drawfigures', () => { wholePage = true; });
addEventListener('beforeprint', () => document.dispatchEvent(new Event('drawfigures')));

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
    .then(() => { page.Bokeh = /** @type {any} */ (window).Bokeh; page.Bokeh.set_log_level('warn'); shareSheets(page.Bokeh); workIn(page.Bokeh); });
  return bokeh;
}

/**
 * New HTML of a pane with `data-morph` is worked into what is there; Panel would put it in the place of all.
 * @param {any} Bokeh
 */
function workIn(Bokeh) {
  const view = Bokeh.Models.get('panel.models.markup.HTML').prototype.default_view.prototype;
  const anew = view.set_html;
  /** @param {string | null} html */
  view.set_html = function (html) {
    if (html === null || !this.container?.firstChild || !this.el.hasAttribute('data-morph')) return anew.call(this, html);
    const figure = [...figures.values()].find(({ document }) => document === this.model.document);
    morph(this.container, html, (element) => held(element, figure));
  };
}

/**
 * Whether a control shows what the reader has just set, and Python's HTML was written before it knew.
 * @param {Element} element
 * @param {Figure | undefined} figure
 */
function held(element, figure) {
  const control = element.classList.contains('track') ? element.querySelector('input') : element;
  if (!(control instanceof HTMLInputElement || control instanceof HTMLSelectElement)) return false;
  const [key] = (control.dataset.set ?? '').split('=');
  return inHand(control) || Boolean(figure && key && queue.pendingKey(figure.name, key, figure.answering));
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
    case 'patch': return figure?.apply(message.patch, message.seq);
    case 'query': return writeQuery(message.figure, message.query);
    case 'error':
      if (message.seq !== null) erring.add(message.figure);
      return figure?.trouble(`Figure ${message.figure} could not work this out; its last state stays. (${message.reason})`, message.details);
    case 'done':
      if (!erring.delete(message.figure)) figure?.calm();
      queue.done(message.seq);
      settleFields();
      if (figure?.watched.has(message.seq)) {
        outline(figure.watched.get(message.seq) ?? []);
        figure.watched.delete(message.seq);
      }
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
  const stale = lost.delete(figure.name);
  if (stale) {
    writeNow();
    page.send(figure.name, 'query', readQuery(figure.name));
  }
  if (!figure.document) return settle(); // it goes live once it is drawn
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
  const inWork = [...figures.values()].filter((figure) => figure.state !== 'picture' || isNear(figure));
  const states = inWork.map((figure) => figure.state);
  // Where no figure is near the screen, the page waits for Python alone.
  if (!states.length && !ready.size) return;
  if (states.every((state) => state === 'live')) {
    if (root.dataset.figures === 'live') return;
    root.dataset.figures = 'live';
    // What Python may want later comes once nothing waits for the line.
    worker?.postMessage({ kind: 'background' });
    document.dispatchEvent(new Event('figureslive'));
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

for (const settings of site.figures) {
  const element = document.querySelector(`figure[data-figure="${settings.name}"]`);
  if (!(element instanceof HTMLElement)) continue;
  const figure = new Figure(element, settings, page);
  figures.set(settings.name, figure);
  listen(figure.stage, {
    set: (pairs) => {
      ('scene' in pairs ? sendShown : page.send)(settings.name, 'set', pairs);
      if (pairs.fold === 'settings') bringIntoView(figure.element); // what they change
    },
    point: (pairs) => { if (figure.state === 'live') page.send(settings.name, 'point', pairs ?? {}); },
  });
}
for (const { name } of figures.values()) {
  const query = readQuery(name);
  show(name, query);
  if (query.length) page.send(name, 'query', query);
}
keepInk(figures);
followLinks({ figures, address, send: sendShown });
followReader();
if (root.dataset.figures !== 'failed') begin();
const selfTest = new URLSearchParams(location.search).get('selftest');
if (selfTest !== null) {
  import('./selftest.js').then((module) => module.selfTest(selfTest === 'report' ? address('selftest-report') : ''));
}
