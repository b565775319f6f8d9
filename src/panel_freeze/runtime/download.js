// Files of the site, fetched with progress. Large ones are stored compressed and inflated here, since
// a static host may or may not compress what it sends.

export class DownloadError extends Error {}

/** @type {DownloadError | null} why a body ended early: WebAssembly, which reads bodies, tells it in words of its own */
export let broken = null;

/**
 * @typedef {(bytes: number) => void} OnBytes called with the number of bytes as they arrive
 */

/**
 * Fetch a file and return its body, inflated if it was stored compressed.
 * @param {string} url
 * @param {OnBytes} [onBytes]
 * @returns {Promise<ReadableStream<Uint8Array>>}
 */
export async function open(url, onBytes = () => {}) {
  const { body, compressed } = await arriving(url, onBytes);
  return compressed ? body.pipeThrough(/** @type {any} */ (new DecompressionStream('gzip'))) : body;
}

/**
 * Fetch a file and return its body as it is stored, and whether that is compressed.
 * @param {string} url
 * @param {OnBytes} [onBytes]
 * @returns {Promise<{ body: ReadableStream<Uint8Array>, compressed: boolean }>}
 */
async function arriving(url, onBytes = () => {}) {
  const name = nameOf(url);
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new DownloadError(`The file ${name} could not be fetched; is the network gone or the file blocked? (${error})`);
  }
  if (!response.ok || !response.body)
    throw new DownloadError(`The file ${name} is missing on this site (the server answered ${response.status}).`);
  const type = response.headers.get('Content-Type') ?? '';
  if (type.startsWith('text/html'))
    throw new DownloadError(`The file ${name} is missing on this site (the server sent an HTML page in its place).`);
  const reader = response.body.getReader();
  const read = () => reader.read().catch((error) => { throw cut('file', name, error); });
  const first = await read();
  let started = false;
  /** @type {ReadableStream<Uint8Array>} */
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = started ? await read() : first;
      started = true;
      if (done) return controller.close();
      onBytes(value.length);
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { body, compressed: first.value?.[0] === 0x1f && first.value?.[1] === 0x8b };
}

/**
 * Fetch a whole file.
 * @param {string} url
 * @param {OnBytes} [onBytes]
 * @returns {Promise<Uint8Array>}
 */
export async function bytes(url, onBytes) {
  return whole(url, await open(url, onBytes));
}

/**
 * Fetch a whole file and return it as it is stored, compressed or not.
 * @param {string} url
 */
export async function stored(url) {
  return whole(url, (await arriving(url)).body);
}

/**
 * @param {string} url
 * @param {ReadableStream<Uint8Array>} body
 */
async function whole(url, body) {
  try {
    return new Uint8Array(await new Response(body).arrayBuffer());
  } catch (error) { // which may or may not be the one that the body ended with
    throw error instanceof DownloadError ? error : cut('file', nameOf(url), error);
  }
}

/**
 * Fetch and compile WebAssembly while it arrives, whatever type the server gives it.
 * @param {string} url
 * @param {OnBytes} [onBytes]
 * @returns {Promise<Response>}
 */
export async function wasm(url, onBytes) {
  return new Response(await open(url, onBytes), { headers: { 'Content-Type': 'application/wasm' } });
}

/**
 * Fetch a whole file and wait for it, as it is stored: for Python, which cannot wait in the middle of an import.
 * @param {string} url
 * @returns {Uint8Array}
 */
export function fetchNow(url) {
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.responseType = 'arraybuffer';
  request.send();
  if (request.status !== 200) throw new DownloadError(`The file ${url.split('/').pop()} is missing on this site (the server answered ${request.status}).`);
  return new Uint8Array(request.response);
}

/**
 * Import a script of the site; a failure names the file and what the server said of it.
 * @param {string} url
 * @returns {Promise<any>}
 */
export async function script(url) {
  try {
    return await import(url);
  } catch (error) {
    const name = nameOf(url);
    const response = await fetch(url).catch(() => null);
    if (!response) throw new DownloadError(`The script ${name} could not be fetched; is the network gone or the file blocked?`);
    if (!response.ok) throw new DownloadError(`The script ${name} is missing on this site (the server answered ${response.status}).`);
    const type = response.headers.get('Content-Type') ?? 'no type';
    if (!/javascript/.test(type))
      throw new DownloadError(`The script ${name} was refused: the server sends it as ${type}, not as text/javascript.`);
    await response.arrayBuffer().catch((broken) => { throw cut('script', name, broken); });
    throw error;
  }
}

/** @param {string} url */
function nameOf(url) {
  return decodeURIComponent(new URL(url, location.href).pathname.split('/').pop() ?? url);
}

/**
 * @param {'file' | 'script'} what
 * @param {string} name
 * @param {any} error
 */
function cut(what, name, error) {
  broken = new DownloadError(`The ${what} ${name} did not arrive whole; the connection broke. (${error})`);
  return broken;
}
