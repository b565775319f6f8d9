// Elements with `data-set` set a figure's state. `data-set="mode=tied"` (several pairs with "&") sends these pairs when
// it is pressed; on a form control `data-set="d_k"` sends what the reader has chosen or typed under that key. Arrow keys
// move within a grid, which is one tab stop; in a field for a number they step. Works in any document, and inside
// shadow roots.

/** @typedef {Record<string, string>} Pairs */

/**
 * @typedef {object} Listener
 * @property {(pairs: Pairs) => void} set
 * @property {(pairs: Pairs | null) => void} point at a cell, or at none
 */

/** @type {WeakSet<Element>} fields that the reader is writing in */
const writing = new WeakSet();
/** @type {Set<HTMLInputElement>} fields whose text has been sent; they show what Python made of it */
const sent = new Set();

/**
 * Whether the reader has a control in hand: is writing in it.
 * @param {Element} element
 */
export function inHand(element) {
  return writing.has(element);
}

/** Once Python has answered, let every field show its value, also where that is what it was before. */
export function settle() {
  for (const field of sent) if (!writing.has(field)) field.value = field.getAttribute('value') ?? '';
  sent.clear();
}

/**
 * @param {HTMLElement} root
 * @param {Listener} listener
 */
export function listen(root, listener) {
  root.addEventListener('input', (event) => {
    const control = origin(event);
    if (!(control instanceof HTMLInputElement || control instanceof HTMLSelectElement) || !control.dataset.set) return;
    if (isField(control)) writing.add(control);
    else listener.set(pairsOf(control));
  });
  root.addEventListener('focusout', (event) => commit(origin(event), listener));
  root.addEventListener('click', (event) => {
    const element = setter(event);
    if (!element || element instanceof HTMLInputElement || element instanceof HTMLSelectElement) return;
    if (element.getAttribute('aria-disabled') === 'true') return;
    event.preventDefault();
    const pairs = pairsOf(element);
    if (element.getAttribute('role') === 'gridcell') element.focus({ preventScroll: true });
    if (pairs.fold) openFold(event, element, pairs.fold);
    listener.set(pairs);
  });
  root.addEventListener('keydown', (event) => {
    const element = origin(event);
    if (!(element instanceof HTMLElement)) return;
    if (isField(element)) typed(event, element, listener);
    else if (element.getAttribute('role') === 'gridcell') moved(event, element, listener);
    else if (element instanceof HTMLInputElement && element.dataset.places) slid(event, element, listener);
  });
  swiping(root, listener);
  pointing(root, listener);
  dragging(root, listener);
}

/** @param {Event} event */
function origin(event) {
  return event.composedPath()[0];
}

/**
 * The element that sets something, on the way from where an event began.
 * @param {Event} event
 */
function setter(event) {
  const found = event.composedPath().find((element) => element instanceof HTMLElement && element.dataset.set);
  return /** @type {HTMLElement | undefined} */ (found);
}

/**
 * @param {EventTarget} element
 * @returns {element is HTMLInputElement}
 */
function isField(element) {
  return element instanceof HTMLInputElement && element.type === 'text' && Boolean(element.dataset.set);
}

/**
 * @param {HTMLElement} element
 * @returns {Pairs}
 */
function pairsOf(element) {
  const set = element.dataset.set ?? '';
  if (set.includes('=')) {
    return Object.fromEntries(set.split('&').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  }
  if (element instanceof HTMLInputElement && element.type === 'checkbox') return { [set]: element.checked ? 'on' : 'off' };
  if (element instanceof HTMLInputElement && element.type === 'range') return { [set]: reached(element) };
  return { [set]: /** @type {HTMLInputElement | HTMLSelectElement} */ (element).value.replaceAll(/(?<=\d),(?=\d{3}(?!\d))/g, element.getAttribute('role') === 'spinbutton' ? '' : ',') };
}

/**
 * The value of the step nearest to a slider's handle, which goes there.
 * @param {HTMLInputElement} range
 */
function reached(range) {
  const values = list(range, 'values');
  const places = list(range, 'places').map(Number);
  let at = Number(range.value);
  if (places.length) {
    const nearest = places.reduce((best, place, i) => (Math.abs(place - at) < Math.abs(places[best] - at) ? i : best), 0);
    range.value = String(places[nearest]);
    return fill(range, values[nearest]);
  }
  at = Math.round(at);
  return fill(range, values.length ? values[at] : String(at + Number(range.dataset.first ?? 0)));
}

/**
 * @param {HTMLInputElement} range
 * @param {string} value
 */
function fill(range, value) {
  const share = (Number(range.value) - Number(range.min)) / (Number(range.max) - Number(range.min) || 1);
  range.parentElement?.style.setProperty('--at', String(share));
  return value;
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 */
function list(element, name) {
  return (element.dataset[name] ?? '').split(',').filter(Boolean);
}

/**
 * @param {EventTarget} field
 * @param {Listener} listener
 */
function commit(field, listener) {
  if (!isField(field) || !writing.delete(field)) return;
  sent.add(field);
  listener.set(pairsOf(field));
}

/**
 * Keys in a field for a number or a text.
 * @param {KeyboardEvent} event
 * @param {HTMLInputElement} field
 * @param {Listener} listener
 */
function typed(event, field, listener) {
  if (event.key === 'Enter') {
    writing.add(field);
    commit(field, listener);
  } else if (event.key === 'Escape' && writing.delete(field)) {
    field.value = field.getAttribute('value') ?? '';
  } else if (field.getAttribute('role') === 'spinbutton' && event.key in STEPS) {
    event.preventDefault();
    step(field, STEPS[event.key], listener);
  }
}

/** @type {Record<string, number>} how many steps a key goes */
const STEPS = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

/**
 * Go some steps from the value that a field shows, within its bounds.
 * @param {HTMLElement} field
 * @param {number} by
 * @param {Listener} listener
 */
function step(field, by, listener) {
  const values = list(field, 'values');
  const now = Number(field.getAttribute('aria-valuenow'));
  const [least, most] = ['aria-valuemin', 'aria-valuemax'].map((name) => Number(field.getAttribute(name)));
  let value = String(Math.min(Math.max(now + by, least), most));
  if (values.length) {
    const nearest = values.reduce((best, each, i) => (Math.abs(Number(each) - now) < Math.abs(Number(values[best]) - now) ? i : best), 0);
    value = values[Math.min(Math.max(nearest + by, 0), values.length - 1)];
  }
  // The next key may come before Python's answer.
  field.setAttribute('aria-valuenow', value);
  writing.delete(field);
  listener.set({ [field.dataset.set ?? '']: value });
}

/**
 * Keys on a slider whose steps lie at places of their own.
 * @param {KeyboardEvent} event
 * @param {HTMLInputElement} range
 * @param {Listener} listener
 */
function slid(event, range, listener) {
  /** @type {Record<string, number>} */
  const by = { ...STEPS, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  if (!(event.key in by)) return;
  event.preventDefault();
  const places = list(range, 'places').map(Number);
  const at = Number(range.value);
  const nearest = places.reduce((best, place, i) => (Math.abs(place - at) < Math.abs(places[best] - at) ? i : best), 0);
  range.value = String(places[Math.min(Math.max(nearest + by[event.key], 0), places.length - 1)]);
  listener.set(pairsOf(range));
}

/**
 * Arrow keys in a grid.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} cell
 * @param {Listener} listener
 */
function moved(event, cell, listener) {
  const cells = [...(cell.closest('table')?.querySelectorAll('[role=gridcell]') ?? [])];
  const across = cell.parentElement?.querySelectorAll('[role=gridcell]').length ?? 1;
  const at = cells.indexOf(cell);
  const column = at % across;
  /** @type {Record<string, number>} */
  const to = {
    ArrowRight: column + 1 < across ? at + 1 : at,
    ArrowLeft: column ? at - 1 : at,
    ArrowDown: at + across < cells.length ? at + across : at,
    ArrowUp: at - across >= 0 ? at - across : at,
    Home: at - column,
    End: at - column + across - 1,
    Enter: at,
    ' ': at,
  };
  if (!(event.key in to)) return;
  event.preventDefault();
  const target = /** @type {HTMLElement} */ (cells[to[event.key]]);
  for (const each of cells) each.setAttribute('tabindex', each === target ? '0' : '-1');
  target.focus();
  listener.set(pairsOf(target));
}

/**
 * A swipe that begins on a slider and scrolls the page leaves the slider where it was.
 * @param {HTMLElement} root
 * @param {Listener} listener
 */
function swiping(root, listener) {
  root.addEventListener('pointerdown', (event) => {
    const range = origin(event);
    if (!(range instanceof HTMLInputElement) || range.type !== 'range' || event.pointerType === 'mouse') return;
    const before = range.value;
    const ended = new AbortController();
    range.addEventListener('pointercancel', () => {
      ended.abort();
      if (range.value === before) return;
      range.value = before;
      listener.set(pairsOf(range));
    }, { signal: ended.signal });
    range.addEventListener('pointerup', () => ended.abort(), { signal: ended.signal });
  });
}

/**
 * A cell that a mouse rests on is explained, without being selected.
 * @param {HTMLElement} root
 * @param {Listener} listener
 */
function pointing(root, listener) {
  let timer = 0;
  /** @type {HTMLElement | undefined} */
  let at;
  const point = (/** @type {HTMLElement | undefined} */ cell) => {
    if (cell === at) return;
    at = cell;
    clearTimeout(timer);
    timer = setTimeout(() => listener.point(cell ? pairsOf(cell) : null), cell ? 60 : 150);
  };
  // Not by pointerover, which stays inside a shadow root that the pointer does not leave.
  root.addEventListener('pointermove', (event) => {
    if (event.pointerType !== 'mouse') return;
    const cell = setter(event);
    point(cell?.getAttribute('role') === 'gridcell' ? cell : undefined);
  });
  root.addEventListener('pointerleave', () => point(undefined));
  // A cell chosen by key is explained from then on, not the one that the mouse has come to rest on.
  root.addEventListener('keydown', () => clearTimeout(timer));
}

/**
 * A number in a sentence can be dragged: each few pixels are a step.
 * @param {HTMLElement} root
 * @param {Listener} listener
 */
function dragging(root, listener) {
  root.addEventListener('pointerdown', (event) => {
    const field = origin(event);
    if (!(field instanceof HTMLInputElement) || field.dataset.drag === undefined || event.button) return;
    const values = list(field, 'values').length;
    const width = values > 60 ? 4 : 14; // pixels of a step
    let from = event.clientX;
    field.setPointerCapture(event.pointerId); // the finger soon leaves a number
    const move = (/** @type {PointerEvent} */ now) => {
      const steps = Math.trunc((now.clientX - from) / width);
      if (!steps) return;
      from += steps * width;
      now.preventDefault();
      step(field, steps, listener);
    };
    const end = () => {
      field.removeEventListener('pointermove', move);
      field.removeEventListener('pointerup', end);
      field.removeEventListener('pointercancel', end);
    };
    field.addEventListener('pointermove', move);
    field.addEventListener('pointerup', end);
    field.addEventListener('pointercancel', end);
  });
}

/**
 * A fold opens at once; Python's answer says the same.
 * @param {Event} event
 * @param {HTMLElement} button
 * @param {string} fold
 */
function openFold(event, button, fold) {
  const card = event.composedPath().find((element) => element instanceof HTMLElement && element.dataset.card !== undefined);
  if (!(card instanceof HTMLElement)) return;
  card.dataset.open = fold;
  for (const each of button.parentElement?.querySelectorAll('[data-fold]') ?? []) {
    const open = each.getAttribute('data-fold') === fold;
    each.setAttribute('aria-expanded', String(open));
    each.setAttribute('data-set', `fold=${open ? 'none' : each.getAttribute('data-fold')}`);
  }
}
