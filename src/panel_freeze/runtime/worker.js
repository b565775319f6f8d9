// One per page: starts Python, hosts all figures' documents, answers messages in order.
import { DownloadError, broken, fetchNow, stored } from './download.js';
import { addStandardLibrary, bootCold, kind, resume } from './pyodide-boot.js';

/**
 * @typedef {object} Start
 * @property {import('./pyodide-boot.js').Parts} parts
 * @property {Record<string, import('./pyodide-boot.js').Snapshot>} snapshots by kind of browser; without one Python starts cold
 * @property {string} late a pack of modules that starting does not import
 * @property {{ name: string, module: string, number: number, root: string }[]} figures
 * @property {Record<string, string>} environment
 */

/** @type {any} */
let resident = null;
/** @type {any[]} messages that came before Python was ready */
const early = [];

self.onmessage = ({ data }) => {
  if (data.kind === 'start') start(data);
  else if (data.kind === 'background') later.fetch();
  else if (!resident) early.push(data);
  else receive(data);
};

/** @param {any} data */
function receive(data) {
  if (data.kind === 'build') build(data.figure);
  else resident.handle(JSON.stringify(data));
}

/** @param {Start} data */
async function start(data) {
  const snapshot = data.snapshots[kind()];
  try {
    await (snapshot ? startResumed(data, snapshot) : startCold(data));
    early.splice(0).forEach(receive);
  } catch (error) {
    // What a restored memory cannot do, a fresh worker can.
    if (snapshot) postMessage({ kind: 'fallback', reason: String(error) });
    else fail(error);
  }
}

/** What starting did not need: fetched in the background, unpacked only if an import wants it. */
const later = {
  /** @type {string[]} */
  urls: [],
  /** @type {Map<string, Uint8Array>} */
  files: new Map(),
  fetch() {
    for (const url of this.urls.splice(0)) stored(url).then((file) => this.files.set(url, file), () => {});
  },
  /**
   * A file that has not come is asked for again, and says why if it does not.
   * @param {string} url
   */
  take: (url) => later.files.get(url) ?? fetchNow(url),
};

const onBytes = (/** @type {number} */ count) => postMessage({ kind: 'progress', bytes: count });
const send = (/** @type {string} */ message) => postMessage(message);

/** @param {Start} data */
async function startCold({ parts, figures, environment, late }) {
  const { pyodide } = await bootCold(parts, onBytes, environment);
  postMessage({ kind: 'stage', stage: 'importing' });
  const python = pyodide.pyimport('panel_freeze_resident');
  resident = python.resident;
  later.urls = [late];
  python.LateModules(false, () => pyodide.toPy([later.take(late)]));
  for (const figure of figures) build(figure);
}

/**
 * @param {Start} data
 * @param {import('./pyodide-boot.js').Snapshot} snapshot
 */
async function startResumed({ parts, figures, environment, late }, snapshot) {
  const { pyodide } = await resume(parts, snapshot, onBytes, environment);
  postMessage({ kind: 'restored' });
  const python = pyodide.pyimport('panel_freeze_resident');
  // Imports that come late need the files that starting cold would have had.
  later.urls = [parts.stdlib, parts.bundle, late];
  python.LateModules(true, () => {
    addStandardLibrary(pyodide, later.take(parts.stdlib));
    return pyodide.toPy([parts.bundle, late].map(later.take));
  });
  resident = python.resident;
  for (const { name, root } of figures) {
    if (resident.root(name) !== root) throw new Error(`The saved memory holds another document of ${name}.`);
  }
  for (const { name, root } of figures) {
    postMessage({ kind: 'ready', figure: name, built: { roots: [root], resumed: true } });
    resident.link(name, send);
  }
}

/** @param {{ name: string, module: string, number: number }} figure */
function build({ name, module, number }) {
  const built = JSON.parse(resident.build(name, module, number));
  if (built.reason) return postMessage({ kind: 'failed', figure: name, ...built });
  postMessage({ kind: 'ready', figure: name, built });
  return resident.link(name, send);
}

/** @param {any} error */
function fail(error) {
  const missing = error instanceof DownloadError ? error : broken;
  const reason = missing?.message ?? `Python could not start in this browser (${lastLine(error)}).`;
  postMessage({ kind: 'failed', figure: null, reason, details: String(error?.stack ?? error) });
}

/** @param {any} error */
function lastLine(error) {
  return String(error?.message ?? error).trim().split('\n').pop();
}
