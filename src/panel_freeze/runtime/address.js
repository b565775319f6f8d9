// The page's address carries the state of its figures: ?NAME.key=value, only what differs from the default.

/**
 * @param {string} figure
 * @param {string} [search]
 * @returns {[string, string][]} key and value, keys without the figure's name
 */
export function readQuery(figure, search = location.search) {
  const prefix = `${figure}.`;
  return [...new URLSearchParams(search)]
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, value]) => [key.slice(prefix.length), value]);
}

/**
 * The address with one figure's state in place of what it had; everything else stays as it is written.
 * @param {string} figure
 * @param {Record<string, string>} query
 * @param {string} [href]
 */
export function withQuery(figure, query, href = location.href) {
  const url = new URL(href);
  const kept = url.search.slice(1).split('&').filter((part) => {
    if (!part) return false;
    const [key] = new URLSearchParams(part).keys();
    return !(key ?? '').startsWith(`${figure}.`);
  });
  const own = Object.entries(query).map(([key, value]) =>
    `${encodeURIComponent(`${figure}.${key}`)}=${encodeURIComponent(value).replaceAll('%2C', ',')}`);
  url.search = [...kept, ...own].join('&');
  return url.href;
}

/** @type {Map<string, Record<string, string>>} what waits to be written */
const changed = new Map();
/** @type {Map<string, string>} by figure, the query of the state that it shows */
const shown = new Map();
let timer = 0;

/**
 * Whether the address says another state of a figure than the one it shows, as after Back and Forward.
 * @param {string} figure
 */
export function isElsewhere(figure) {
  return canonical(readQuery(figure)) !== (shown.get(figure) ?? '[]');
}

/** @param {string} figure @param {[string, string][]} pairs */
export function show(figure, pairs) {
  shown.set(figure, canonical(pairs));
}

/** @param {[string, string][]} pairs */
function canonical(pairs) {
  return JSON.stringify([...pairs].sort());
}

/**
 * Write a figure's state to the address, once the reader pauses; no history entry is made.
 * @param {string} figure
 * @param {Record<string, string>} query
 */
export function writeQuery(figure, query) {
  changed.set(figure, query);
  show(figure, Object.entries(query));
  clearTimeout(timer);
  timer = setTimeout(writeNow, 250);
}

/** The address was changed by Back or Forward: what waited for the one before is not written. */
export function forget() {
  clearTimeout(timer);
  changed.clear();
}

/** Write at once what waits to be written, before the address is read or left. */
export function writeNow() {
  clearTimeout(timer);
  let { href } = location;
  for (const [name, value] of changed) href = withQuery(name, value, href);
  changed.clear();
  if (href !== location.href) history.replaceState(history.state, '', href);
}
