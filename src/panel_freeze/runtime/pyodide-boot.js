// The only file that knows Pyodide's insides: start Python with NumPy's libraries loaded before it, either
// from its parts (cold) or from the memory that the bake has saved (resumed).
import { bytes, open, script, wasm } from './download.js';

const SITE_PACKAGES = '/lib/python3.14/site-packages/';
const STANDARD_LIBRARY = '/lib/python314.zip';
const LOCK = {
  info: { arch: 'wasm32', platform: 'emscripten_5_0_3', version: '0.0.1', python: '3.14.0', abi_version: '2026_0' },
  packages: {},
};
// A fixed hash seed gives sets and dictionaries one order, at build time and in every browser; the reader's language
// would give each browser another environment.
const ENVIRONMENT = {
  HOME: '/home/pyodide', LANG: 'C.UTF-8', PYTHONHASHSEED: '0', PYTHONDONTWRITEBYTECODE: '1', BOKEH_SIMPLE_IDS: 'yes',
};
// An archive with nothing in it: Python looks at its standard library only when it imports.
const EMPTY_ZIP = Uint8Array.from([0x50, 0x4b, 5, 6, ...Array(18).fill(0)]);

/**
 * @typedef {object} Parts where the parts of Python are, as absolute addresses
 * @property {string} loader Pyodide's `pyodide.mjs`
 * @property {string} module Pyodide's `pyodide.asm.mjs`
 * @property {string} wasm
 * @property {string} stdlib the standard library, as a zip
 * @property {string} bundle the packages that starting imports, as a pack
 * @property {string} data files that are no modules, as a pack
 * @property {Record<string, string>} libraries NumPy's shared libraries, by path in site-packages, in loading order
 */

/**
 * @typedef {object} Snapshot a saved memory, and what has to be the same where it is restored
 * @property {string} url how the memory differs from that of a fresh instance, compressed with zstd
 * @property {string} head Pyodide's header of it, in base64
 * @property {number} memory its length in bytes
 * @property {number} window how far back the compression looks, in bytes
 * @property {{ pages: [number, number][], hash: number }} fresh the pages of a fresh instance that it builds on
 * @property {number[]} table lengths of the function table before and after the libraries are loaded
 */

/**
 * Pyodide takes another path for C calls on iOS, so a memory saved for one kind does not fit the other. This is
 * the question it asks itself.
 * @returns {'ios' | 'other'}
 */
export function kind() {
  const { userAgent, platform, maxTouchPoints } = navigator;
  return /iPad|iPhone|iPod/.test(userAgent) || (platform === 'MacIntel' && maxTouchPoints > 1) ? 'ios' : 'other';
}

/**
 * Start Python from its parts, with nothing restored.
 * @param {Parts} parts
 * @param {(bytes: number) => void} onBytes
 * @param {Record<string, string>} environment
 * @param {any} [options] of `loadPyodide`
 * @param {(module: any) => void} [fresh] called when the libraries are loaded and Python has not started
 */
export async function bootCold(parts, onBytes, environment, options = {}, fresh) {
  const stdlib = bytes(parts.stdlib, onBytes);
  const packs = Promise.all([parts.bundle, parts.data].map((url) => bytes(url, onBytes)));
  for (const part of [stdlib, packs]) part.catch(() => {}); // awaited below; until then not unhandled
  return boot(parts, onBytes, environment, { stdlib, packs, options, fresh });
}

/**
 * Start Python by restoring the memory that the bake has saved.
 * @param {Parts} parts
 * @param {Snapshot} snapshot
 * @param {(bytes: number) => void} onBytes
 * @param {Record<string, string>} environment what it was in the bake
 */
export async function resume(parts, snapshot, onBytes, environment) {
  const memory = open(snapshot.url, onBytes);
  const packs = bytes(parts.data, onBytes).then((pack) => [pack]);
  for (const part of [memory, packs]) part.catch(() => {});
  const head = Uint8Array.from(atob(snapshot.head), (character) => character.charCodeAt(0));
  return boot(parts, onBytes, environment, {
    stdlib: Promise.resolve(EMPTY_ZIP),
    packs,
    table: snapshot.table,
    restore: async (module, exports) => fill(module, exports, await memory, snapshot),
    options: { _loadSnapshot: head, _snapshotDeserializer: rebuild },
  });
}

/**
 * @param {Parts} parts
 * @param {(bytes: number) => void} onBytes
 * @param {Record<string, string>} environment
 * @param {{ stdlib: Promise<Uint8Array>, packs: Promise<Uint8Array[]>, table?: number[],
 *   restore?: (module: any, exports: any) => Promise<void>, fresh?: (module: any) => void, options: any }} how
 */
async function boot(parts, onBytes, environment, { stdlib, packs, table, restore, fresh, options }) {
  const main = wasm(parts.wasm, onBytes);
  const compiled = Promise.all(
    Object.entries(parts.libraries).map(async ([path, url]) =>
      /** @type {[string, WebAssembly.Module]} */ ([path, await WebAssembly.compileStreaming(wasm(url, onBytes))])));
  for (const part of [main, compiled]) part.catch(() => {});
  const [{ loadPyodide }, { default: createModule }] = await Promise.all([script(parts.loader), script(parts.module)]);
  const libraries = await compiled;
  // Python's import system looks for a library's file before it asks for the library, which is loaded by then.
  const placeholder = new TextEncoder().encode('already loaded');
  const placeholders = libraries.map(([path]) => /** @type {[string, Uint8Array]} */ ([path, placeholder]));
  const files = [...(await packs).flatMap(readPack), ...placeholders];
  /** @type {any} */
  let module;
  /** @type {number[]} */
  let lengths = [];
  const answers = {
    'pyodide.asm.wasm': () => main,
    'python_stdlib.zip': async () => new Response(/** @type {any} */ (await stdlib)),
  };
  // Pyodide keeps it to itself when its WebAssembly does not come or does not compile, and would wait for ever.
  /** @type {(error: any) => void} */
  let fail = () => {};
  const failure = new Promise((_, reject) => { fail = reject; });
  main.catch(fail);
  const pyodide = await answering(answers, () => sendingOnce(() => Promise.race([failure, loadPyodide({
    indexURL: new URL('./', parts.loader).href,
    packageBaseUrl: './',
    lockFileContents: LOCK,
    env: { ...ENVIRONMENT, ...environment },
    createPyodideModule: async (/** @type {any} */ settings) => {
      const exports = exportsFromTable(fail);
      settings.preRun.push((/** @type {any} */ created) => {
        module = created;
        exports.restore();
        lengths = [exports.table().length];
        loadLibraries(module, libraries);
        lengths.push(exports.table().length);
      });
      if (fresh) settings.onRuntimeInitialized = () => fresh(module);
      const created = await createModule(settings);
      if (table && String(table) !== String(lengths))
        throw new Error(`The function table has ${lengths} entries here and ${table} in the saved memory.`);
      await restore?.(created, exports.all());
      return created;
    },
    fsInit: async (/** @type {any} */ FS) => writeFiles(FS, files),
    ...options,
  })])));
  return { pyodide, module, table: lengths };
}

const PAGE = 4096;
const PIECE = 2 ** 18; // what goes into the decoder and comes out of it, at a time

/**
 * Unpack a saved memory, as it arrives, into a module's own, and add what the module held before. The module's
 * WebAssembly has zstd inside; it works in room above the saved memory, with nothing allocated, so what is written
 * below does not disturb it.
 * @param {any} module
 * @param {any} exports the functions of its WebAssembly
 * @param {ReadableStream<Uint8Array>} memory
 * @param {Snapshot} snapshot
 */
export async function fill(module, exports, memory, { memory: length, window, fresh }) {
  const kept = fresh.pages.map(([first, number]) => (
    { start: first * PAGE, end: (first + number) * PAGE, bytes: module.HEAPU8.slice(first * PAGE, (first + number) * PAGE) }));
  if (hash(kept.map(({ bytes }) => new Uint32Array(bytes.buffer))) !== fresh.hash)
    throw new Error('A fresh instance holds other data here than where the memory was saved.');
  const room = exports.ZSTD_estimateDStreamSize(window);
  const context = Math.ceil(length / 16) * 16;
  const input = context + Math.ceil(room / 16) * 16;
  const output = input + PIECE;
  const buffers = output + PIECE; // zstd's two structs of address, size and position
  const end = buffers + 24;
  if (module.HEAPU8.length < end) module.growMemory(end);
  const heap = module.HEAPU8;
  const numbers = new Uint32Array(heap.buffer, buffers, 6);
  const decoder = exports.ZSTD_initStaticDCtx(context, room);
  if (!decoder) throw new Error('The saved memory cannot be unpacked here.');
  let offset = 0;
  let run = 0; // the first of the kept runs that is not complete again
  let left = 1; // 0 once the end has come
  // The decoder's own tables and stack are on the way: between its steps only, and never without what was there before.
  const put = (/** @type {number} */ count) => {
    const next = offset + count;
    heap.copyWithin(offset, output, output + count);
    for (; run < kept.length; run += 1) {
      const { start, end: stop, bytes } = kept[run];
      for (let i = Math.max(start, offset); i < Math.min(stop, next); i += 1) heap[i] ^= bytes[i - start];
      if (stop > next) break;
    }
    offset = next;
  };
  const unpack = (/** @type {Uint8Array} */ piece) => {
    heap.set(piece, input);
    numbers.set([output, PIECE, 0, input, piece.length, 0]);
    do {
      numbers[2] = 0;
      left = exports.ZSTD_decompressStream(decoder, buffers, buffers + 12);
      if (exports.ZSTD_isError(left) || offset + numbers[2] > length) throw new Error('The saved memory is damaged.');
      put(numbers[2]);
    // After the end it must not be asked again: it would begin another memory, and say that much is missing.
    } while (numbers[5] < numbers[4] || (left && numbers[2] === PIECE));
  };
  const reader = memory.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (let start = 0; start < value.length; start += PIECE) unpack(value.subarray(start, start + PIECE));
  }
  if (left !== 0 || offset !== length) throw new Error(`The saved memory ends after ${offset} of ${length} bytes.`);
  heap.fill(0, length);
}

/**
 * A polynomial of 32-bit words, modulo 2 ** 32; the builder works it out too.
 * @param {Uint32Array[]} parts
 */
function hash(parts) {
  let sum = 0;
  for (const words of parts) {
    for (let i = 0; i < words.length; i += 1) sum = (Math.imul(sum, 16777619) + words[i]) | 0;
  }
  return sum >>> 0;
}

/**
 * Save the memory of a Python that was started for it. Everything of JavaScript that Python holds must have a name.
 * @param {any} pyodide
 * @param {any} module
 * @param {() => void} tidy the last thing that Python does before
 */
export function save(pyodide, module, tidy) {
  tidy();
  clean(module);
  for (const name of Object.keys(pyodide.loadedPackages)) delete pyodide.loadedPackages[name];
  for (let slot = 7; ; slot += 1) { // a freed slot reads undefined, and is nobody's
    let value;
    try { value = module.__hiwire_get(slot); } catch { break; }
    if (value === undefined) module.__hiwire_set(slot, null);
  }
  return pyodide.makeMemorySnapshot({ serializer: name });
}

/**
 * Freed memory keeps what it held, and would be downloaded: take what is free, in ever smaller blocks, and clear it.
 * @param {any} module
 */
function clean(module) {
  const taken = [];
  for (let size = 2 ** 18; size >= 2 ** 10; size /= 2) {
    // Blocks that hold nothing, but for the allocator's own marks, come from above everything that was ever used.
    for (let unused = 0; unused < 8;) {
      const block = module._malloc(size);
      if (!block) throw new Error('There is no memory left to look for what is free.');
      taken.push(block);
      const held = module.HEAPU8.subarray(block, block + size);
      if (held.filter(Boolean).length < 16) unused += 1;
      held.fill(0);
    }
  }
  taken.forEach((block) => module._free(block));
}

// Panel keeps one function of JavaScript: it turns undefined into null.
const UNDEFINED_TO_NULL = 'undefined to null';

/** @param {any} value */
function name(value) {
  if (typeof value === 'function' && /entry\[1\] === undefined/.test(String(value))) return UNDEFINED_TO_NULL;
  throw new Error(`Python holds something of JavaScript that cannot be saved: ${Object.prototype.toString.call(value)} ${String(value).slice(0, 300)}`);
}

/** @param {any} named */
function rebuild(named) {
  if (named !== UNDEFINED_TO_NULL) throw new Error(`The saved memory names an unknown ${named}.`);
  return (/** @type {[string, any][]} */ entries) => Object.fromEntries(entries.map(([key, value]) => [key, value ?? null]));
}

/**
 * WebKit gives a function in a WebAssembly table another identity than the export it comes from, and Emscripten
 * would add it to the table again. Until the main module has started, hand out the export of the same name.
 * @param {(error: any) => void} fail told if the main module cannot start
 */
function exportsFromTable(fail) {
  const { get } = WebAssembly.Table.prototype;
  const { instantiate, instantiateStreaming } = WebAssembly;
  const exported = new Map();
  /** @type {WebAssembly.Table} */
  let table;
  /** @type {any} */
  let main;
  const remember = (/** @type {any} */ result) => {
    const { exports } = result.instance ?? result;
    if (exports.ZSTD_initStaticDCtx) main = exports; // Pyodide starts small modules too, in no fixed order
    for (const value of Object.values(exports)) {
      if (typeof value === 'function') exported.set(value.name, value);
      if (value instanceof WebAssembly.Table) table = value;
    }
    return result;
  };
  const refuse = (/** @type {any} */ error) => {
    fail(error);
    throw error;
  };
  WebAssembly.instantiate = /** @type {any} */ ((/** @type {any[]} */ ...given) => /** @type {any} */ (instantiate)(...given).then(remember, refuse));
  WebAssembly.instantiateStreaming = (...given) => instantiateStreaming(...given).then(remember, refuse);
  WebAssembly.Table.prototype.get = function (/** @type {number} */ index) {
    const entry = get.call(this, index);
    return (entry && exported.get(entry.name)) ?? entry;
  };
  const restore = () => {
    WebAssembly.Table.prototype.get = get;
    Object.assign(WebAssembly, { instantiate, instantiateStreaming });
  };
  return { restore, table: () => table, all: () => main };
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
 * Whatever Python has to do next, Pyodide queues, and sends itself a message for each thing; with the first message
 * that comes it does all that is queued. The others are still on the way then, and bring forward what is queued
 * later: long work in slices would keep them all in flight, and the reader's messages behind them. Channels made
 * while `work` runs have one message on the way at most.
 * @template T
 * @param {() => Promise<T>} work
 */
export async function sendingOnce(work) {
  const { MessageChannel } = globalThis;
  globalThis.MessageChannel = class extends MessageChannel {
    constructor() {
      super();
      let sent = false;
      this.port1.addEventListener('message', () => { sent = false; });
      const post = this.port2.postMessage.bind(this.port2);
      this.port2.postMessage = (/** @type {any} */ message) => {
        if (!sent) post(message);
        sent = true;
      };
    }
  };
  try {
    return await work();
  } finally {
    globalThis.MessageChannel = MessageChannel;
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
 * Put the standard library where Python looks for it.
 * @param {any} pyodide
 * @param {Uint8Array} zip
 */
export function addStandardLibrary(pyodide, zip) {
  pyodide.FS.writeFile(STANDARD_LIBRARY, zip);
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
