// The bake's worker: the reader's boot, then whatever the builder asks for. Results go back by POST, since
// they are large.
import { bootCold, kind, save } from './pyodide-boot.js';

/** @type {any} */
let pyodide = null;
/** @type {any} */
let booted = null;

self.onmessage = async ({ data: { task, parts, environment, arguments: given } }) => {
  try {
    if (given.snapshot) stopTime();
    /** @type {Promise<void> | undefined} */
    let posted;
    const fresh = (/** @type {any} */ module) => { posted = post(given.fresh, module.HEAPU8.slice()); };
    booted ??= await bootCold(parts, () => {}, environment, given.snapshot ? { _makeSnapshot: true } : {}, given.fresh && fresh);
    await posted;
    pyodide = booted.pyodide;
    postMessage({ result: await tasks[/** @type {keyof typeof tasks} */ (task)](given) });
  } catch (/** @type {any} */ error) {
    postMessage({ error: String(error?.message ?? error) });
  }
};

const tasks = {
  /** @param {{ paths: string[], keep: string[], save: string }} given */
  async compile({ paths, keep, save }) {
    const baker = pyodide.pyimport('panel_freeze_baker');
    const errors = JSON.parse(baker.compile_files(pyodide.toPy(paths), pyodide.toPy(keep)));
    await post(save, pyodide.FS.readFile(baker.COMPILED.__str__()));
    return { errors };
  },

  /** @param {{ figures: any[], snapshot: string }} given where to post the saved memory */
  async build({ figures, snapshot }) {
    call('import panel_freeze_resident');
    const built = Object.fromEntries(figures.map(({ name, module, number }) =>
      [name, ask('panel_freeze_resident.resident.build', name, module, number, true)]));
    if (Object.values(built).every(({ reason }) => !reason)) await post(snapshot, save(pyodide, booted.module, tidy));
    // Asked after saving: the memory holds nothing of the baker.
    return { built, ...about(), extras: ask('panel_freeze_baker.extras') };
  },

  /** @param {{ module: string | null }} given */
  async numbers({ module }) {
    return { numbers: module ? ask('panel_freeze_baker.evaluate_numbers', module) : { values: '{}' }, ...about() };
  },

  /** @param {{ code: string }} given a test's own Python, run in the browser's Python */
  async run({ code }) {
    return pyodide.runPythonAsync(code);
  },
};

/** @param {string} code run by Python itself, since an open proxy would be one more thing to save */
function call(code) {
  return pyodide.runPython(code);
}

/**
 * Call a function of Python that returns JSON.
 * @param {string} name
 * @param {any[]} given
 */
function ask(name, ...given) {
  const list = JSON.stringify(JSON.stringify(given));
  return JSON.parse(call(`import json, ${name.split('.')[0]}; ${name}(*json.loads(${list}))`));
}

function about() {
  return {
    imported: ask('panel_freeze_baker.imported_files'),
    versions: ask('panel_freeze_baker.versions'),
    kind: kind(),
    table: booted.table,
  };
}

function tidy() {
  // The import system's caches hold files open that will not be there. Nobody types into a page's standard input,
  // whose buffer is large and holds what lay there before.
  call(`
import gc, importlib, sys
panel_freeze_resident.resident.lighten()
importlib.invalidate_caches()
sys.stdin = sys.__stdin__ = None
gc.collect()
del json, panel_freeze_resident, gc, importlib, sys
`);
}

/**
 * @param {string} url
 * @param {Uint8Array} body
 */
async function post(url, body) {
  const response = await fetch(url, { method: 'POST', body: /** @type {any} */ (body) });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
}

/** Clock and chance stand still in a bake, so that the same input gives the same memory. */
function stopTime() {
  Date.now = () => 1_700_000_000_000;
  performance.now = () => 0;
  crypto.getRandomValues = (array) => {
    new Uint8Array(/** @type {any} */ (array).buffer, /** @type {any} */ (array).byteOffset, /** @type {any} */ (array).byteLength).fill(7);
    return array;
  };
}
