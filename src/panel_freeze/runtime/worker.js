// One per page: starts Python, hosts all figures' documents, answers messages in order.
import { DownloadError, bytes, fetchNow } from './download.js';
import { bootCold } from './pyodide-boot.js';

/** @type {any} */
let resident = null;
/** @type {any[]} messages that came before Python was ready */
const early = [];

self.onmessage = ({ data }) => {
  if (data.kind === 'start') start(data);
  else if (!resident) early.push(data);
  else receive(data);
};

/** @param {any} data */
function receive(data) {
  if (data.kind === 'build') build(data.figure);
  else resident.handle(JSON.stringify(data));
}

/**
 * @param {{ parts: any, figures: any[], environment: Record<string, string>,
 *   late: { url: string, modules: string[] } }} data
 */
async function start({ parts, figures, environment, late }) {
  try {
    const pyodide = await bootCold(parts, (bytes) => postMessage({ kind: 'progress', bytes }), environment);
    postMessage({ kind: 'stage', stage: 'importing' });
    const { Resident, LateModules } = pyodide.pyimport('panel_freeze_resident');
    const modules = LateModules(pyodide.toPy(late.modules), () => pyodide.toPy(fetchNow(late.url)));
    resident = Resident();
    for (const figure of figures) build(figure);
    early.splice(0).forEach(receive);
    // Where this fails, a late import tries again and says why.
    bytes(late.url).then((pack) => modules.add(pyodide.toPy(pack)), () => {});
  } catch (error) {
    fail(null, error);
  }
}

/** @param {{ name: string, module: string, number: number, digest: string }} figure */
function build({ name, module, number }) {
  const text = resident.build(name, module, number);
  const built = JSON.parse(text);
  if (built.reason) return postMessage({ kind: 'failed', figure: name, ...built });
  postMessage({ kind: 'ready', figure: name, built });
  resident.link(name, (/** @type {string} */ message) => postMessage(message));
}

/**
 * @param {string | null} figure
 * @param {any} error
 */
function fail(figure, error) {
  const reason = error instanceof DownloadError ? error.message : `Python could not start in this browser (${firstLine(error)}).`;
  postMessage({ kind: 'failed', figure, reason, details: String(error?.stack ?? error) });
}

/** @param {any} error */
function firstLine(error) {
  return String(error?.message ?? error).trim().split('\n').pop();
}
