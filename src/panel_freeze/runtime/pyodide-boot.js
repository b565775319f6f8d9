// The only file that knows Pyodide's insides: start Python with NumPy's libraries loaded before it.
import { bytes, script, wasm } from './download.js';

const SITE_PACKAGES = '/lib/python3.14/site-packages/';
const LOCK = {
  info: { arch: 'wasm32', platform: 'emscripten_5_0_3', version: '0.0.1', python: '3.14.0', abi_version: '2026_0' },
  packages: {},
};
// A fixed hash seed gives sets and dictionaries one order, at build time and in every browser.
const ENVIRONMENT = { HOME: '/home/pyodide', PYTHONHASHSEED: '0', PYTHONDONTWRITEBYTECODE: '1', BOKEH_SIMPLE_IDS: 'yes' };

/**
 * @typedef {object} Parts where the parts of Python are, as absolute addresses
 * @property {string} loader Pyodide's `pyodide.mjs`
 * @property {string} module Pyodide's `pyodide.asm.mjs`
 * @property {string} wasm
 * @property {string} stdlib the standard library, as a zip
 * @property {string} bundle the packages, as a pack
 * @property {Record<string, string>} libraries NumPy's shared libraries, by path in site-packages, in loading order
 */

/**
 * Start Python from its parts, with nothing restored.
 * @param {Parts} parts
 * @param {(bytes: number) => void} onBytes
 * @param {Record<string, string>} environment
 */
export async function bootCold(parts, onBytes, environment) {
  const compiled = Promise.all(
    Object.entries(parts.libraries).map(async ([path, url]) =>
      /** @type {[string, WebAssembly.Module]} */ ([path, await WebAssembly.compileStreaming(wasm(url, onBytes))])));
  const bundle = bytes(parts.bundle, onBytes);
  const main = wasm(parts.wasm, onBytes);
  const stdlib = bytes(parts.stdlib, onBytes);
  // Each is awaited below; until then a failure must not count as unhandled.
  for (const part of [compiled, bundle, main, stdlib]) part.catch(() => {});
  const [{ loadPyodide }, { default: createModule }] = await Promise.all([script(parts.loader), script(parts.module)]);
  const libraries = await compiled;
  const pack = readPack(await bundle);
  const answers = {
    'pyodide.asm.wasm': () => main,
    'python_stdlib.zip': async () => new Response(/** @type {any} */ (await stdlib)),
  };
  return answering(answers, () => loadPyodide({
    indexURL: new URL('./', parts.loader).href,
    packageBaseUrl: './',
    lockFileContents: LOCK,
    env: { ...ENVIRONMENT, ...environment },
    createPyodideModule: (/** @type {any} */ settings) => {
      settings.preRun.push((/** @type {any} */ module) => loadLibraries(module, libraries));
      return createModule(settings);
    },
    fsInit: async (/** @type {any} */ FS) => {
      writeFiles(FS, pack);
      // Python's import system looks for the file before it asks for the library, which is loaded by then.
      for (const [path] of libraries) FS.writeFile(SITE_PACKAGES + path, 'already loaded');
    },
  }));
}

/**
 * Load shared libraries under the names that Python's `dlopen` will ask for.
 * @param {any} module
 * @param {[string, WebAssembly.Module][]} libraries
 */
function loadLibraries(module, libraries) {
  for (const [file, compiled] of libraries) {
    const path = SITE_PACKAGES + file;
    const library = module.newDSO(path, undefined, 'loading');
    library.exports = module.loadWebAssemblyModule(compiled, { nodelete: true }, path, {});
    module.LDSO.loadedLibsByName[path] = library;
  }
}

/**
 * While `work` runs, answer Pyodide's own requests with what was fetched already.
 * @template T
 * @param {Record<string, () => Promise<Response>>} answers by file name
 * @param {() => Promise<T>} work
 */
async function answering(answers, work) {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    const answer = answers[url.pathname.split('/').pop() ?? ''];
    return answer ? answer() : fetch(input, init);
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = fetch;
  }
}

/**
 * @param {Uint8Array} data a pack: length of the index, the index as JSON, the files' bytes
 * @returns {[string, Uint8Array][]}
 */
export function readPack(data) {
  const start = 4 + new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(data.subarray(4, start)));
  return index.map((/** @type {[string, number, number]} */ [path, offset, size]) =>
    [path, data.subarray(start + offset, start + offset + size)]);
}

/**
 * @param {any} FS
 * @param {[string, Uint8Array][]} files by path in site-packages
 */
function writeFiles(FS, files) {
  const folders = new Set();
  for (const [path, content] of files) {
    const target = SITE_PACKAGES + path;
    const folder = target.slice(0, target.lastIndexOf('/'));
    if (!folders.has(folder)) FS.mkdirTree(folder);
    folders.add(folder);
    FS.writeFile(target, content, { canOwn: true });
  }
}
