// The bake's worker: the reader's boot, then whatever the builder asks for. Results go back by POST, since
// they are large.
import { bootCold } from './pyodide-boot.js';

/** @type {any} */
let pyodide = null;

self.onmessage = async ({ data: { task, parts, environment, arguments: given } }) => {
  try {
    if (!pyodide) pyodide = await bootCold(parts, () => {}, environment);
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

  /** @param {{ figures: any[], numbers: string | null }} given */
  async build({ figures, numbers }) {
    const baker = pyodide.pyimport('panel_freeze_baker');
    const { Resident } = pyodide.pyimport('panel_freeze_resident');
    const resident = Resident();
    const built = Object.fromEntries(figures.map(({ name, module, number }) => [name, JSON.parse(resident.build(name, module, number))]));
    return {
      built,
      numbers: numbers ? JSON.parse(baker.evaluate_numbers(numbers)) : { values: {} },
      imported: JSON.parse(baker.imported_files()),
      versions: JSON.parse(baker.versions()),
    };
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
