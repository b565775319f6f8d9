// What a link or a scene has changed is shown: the drawing comes into view, what changed is outlined for a moment, and
// there is a way back to the text.

const ENOUGH = 0.6; // of a drawing in view
const OUTLINED = 1200; // milliseconds
const OFFERED = 20_000; // milliseconds that the way back is offered

/**
 * Bring the drawing of a figure into view, unless enough of it is.
 * @param {HTMLElement} figure
 */
export function bringIntoView(figure) {
  const stage = deep(figure, '[data-stage]')[0] ?? figure.querySelector('.stage') ?? figure;
  const { top, bottom, height } = stage.getBoundingClientRect();
  const seen = Math.min(bottom, innerHeight) - Math.max(top, 0);
  if (seen >= ENOUGH * Math.min(height, innerHeight)) return;
  const above = Math.max((innerHeight - height) / 2, 8);
  scrollBy({ top: top - above, behavior: 'instant' });
}

/**
 * Outline elements for a moment.
 * @param {Iterable<HTMLElement>} elements
 */
export function outline(elements) {
  for (const element of elements) {
    const ring = { outline: '2px solid var(--page-accent, currentColor)', outlineOffset: '5px' };
    element.animate([ring, ring], { duration: OUTLINED });
  }
}

/** @type {HTMLButtonElement | undefined} */
let way;

/**
 * Offer the way back to where the reader was in the text.
 * @param {HTMLElement} link
 */
export function offerWayBack(link) {
  way?.remove();
  const place = scrollY;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'way-back';
  button.textContent = 'Back to the text';
  const timer = setTimeout(() => button.remove(), OFFERED);
  button.addEventListener('click', () => {
    clearTimeout(timer);
    button.remove();
    scrollTo({ top: place, behavior: 'instant' });
    link.focus({ preventScroll: true });
  });
  document.body.append(button);
  way = button;
}

/**
 * Elements below a root, in shadow roots too.
 * @param {Element | ShadowRoot} from
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
export function deep(from, selector) {
  const inner = [...from.querySelectorAll('*')].flatMap((element) => (element.shadowRoot ? deep(element.shadowRoot, selector) : []));
  return [.../** @type {NodeListOf<HTMLElement>} */ (from.querySelectorAll(selector)), ...inner];
}
