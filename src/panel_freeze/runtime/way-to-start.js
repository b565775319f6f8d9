// Which way Python starts for this reader: resumed is less work, cold is fewer bytes.

// How much longer a cold start works, in seconds: on the machines this was measured on, and on weaker ones.
const WORK = 3;
const WORK_WEAK = 6;
// So long is the line watched before its speed is known, in seconds. What browsers tell of it is a guess at first.
const WATCHED = 1.5;
const HELD = 'panel-freeze-memory';

/**
 * @typedef {object} Reader
 * @property {boolean} savesData whether the reader asked the browser to save data
 * @property {boolean} weak whether the machine is a small one, as far as the browser tells
 * @property {boolean} held whether the saved memory was fetched in an earlier visit
 */

/** @typedef {{ resumed: number, cold: number }} Bytes that the two ways fetch */

/**
 * Tell whether Python starts cold from the beginning: if the reader saves data, and has not fetched the memory yet.
 * @param {Reader} reader
 * @param {Bytes} bytes
 */
export function startsCold({ savesData, held }, bytes) {
  return savesData && !held && bytes.cold < bytes.resumed;
}

/**
 * Tell, while the memory is being fetched, whether to leave it and start cold: if the rest takes longer than to fetch
 * all that a cold start needs and to do its work.
 * @param {number} received bytes so far
 * @param {{ bytes: number, seconds: number }} watched what came since Python has the line for itself
 * @param {Reader} reader
 * @param {Bytes} bytes
 */
export function coldIsSooner(received, watched, { weak }, bytes) {
  if (watched.seconds < WATCHED) return false;
  const speed = watched.bytes / watched.seconds;
  return (bytes.resumed - received) / speed > bytes.cold / speed + (weak ? WORK_WEAK : WORK);
}

/**
 * What this browser tells of its reader.
 * @param {string} memory the address of the saved memory
 * @returns {Reader}
 */
export function reader(memory) {
  const { connection, deviceMemory } = /** @type {any} */ (navigator);
  return { savesData: connection?.saveData === true, weak: deviceMemory <= 4, held: stored() === memory };
}

/**
 * Remember that the saved memory was fetched.
 * @param {string} memory its address
 */
export function remember(memory) {
  try { localStorage.setItem(HELD, memory); } catch { /* a reader who stores nothing */ }
}

function stored() {
  try { return localStorage.getItem(HELD); } catch { return null; }
}
