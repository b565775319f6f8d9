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
    booted ??= await bootCold(parts, () => {}, environment, given.snapshot ? { _makeSnapshot: true } : {});
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

  /** @param {{ figures: any[], numbers: string | null, snapshot: string }} given where to post the saved memory */
  async build({ figures, numbers, snapshot }) {
    // All through Python's own globals: an open proxy would be one more thing to save.
    const call = (/** @type {string} */ expression, /** @type {any[]} */ ...given) => {
      const text = `__import__('json').dumps([${expression}])`;
      return JSON.parse(pyodide.runPython(given.reduce((/** @type {string} */ code, value) => code.replace('?', JSON.stringify(value)), text)))[0];
    };
    pyodide.runPython('import panel_freeze_resident as _freeze, panel_freeze_baker as _baker');
    const built = Object.fromEntries(figures.map(({ name, module, number }) =>
      [name, JSON.parse(call('_freeze.resident.build(?, ?, ?)', name, module, number))]));
    const result = {
      built,
      numbers: numbers ? JSON.parse(call('_baker.evaluate_numbers(?)', numbers)) : { values: {} },
      imported: JSON.parse(call('_baker.imported_files()')),
      versions: JSON.parse(call('_baker.versions()')),
      kind: kind(),
      table: booted.table,
    };
    pyodide.runPython('import gc, sys; del _freeze, _baker; sys.modules.pop("panel_freeze_baker"); gc.collect()');
    await post(snapshot, save(pyodide, booted.module));
    return result;
  },

  /** @param {{ code: string }} given a test's own Python, run in the browser's Python */
  async run({ code }) {
    return pyodide.runPythonAsync(code);
  },
};

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
