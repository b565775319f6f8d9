// Names for the controls inside shadow roots. Bokeh's widgets keep their focusable element there, where no
// attribute of the host reaches it: attributes of the host written data-aria-… (and data-role) are handed on.

const FOCUSABLE = '.noUi-handle, input, select, textarea, button';

/**
 * Name every control below an element, now and whenever something below it changes.
 * @param {Element | ShadowRoot} root
 */
export function nameControls(root) {
  for (const element of root.querySelectorAll('*')) if (element.shadowRoot) watch(element, element.shadowRoot);
}

/** @type {WeakSet<Node>} */
const watched = new WeakSet();

/**
 * @param {Element} host
 * @param {ShadowRoot} shadow
 */
function watch(host, shadow) {
  if (watched.has(host)) return;
  watched.add(host);
  handOn(host, shadow);
  nameControls(shadow);
  new MutationObserver(() => handOn(host, shadow)).observe(host, { attributes: true });
  new MutationObserver((changes) => {
    handOn(host, shadow);
    if (changes.some((change) => change.addedNodes.length)) nameControls(shadow);
  }).observe(shadow, { childList: true, subtree: true, attributes: true, attributeFilter: ['aria-valuetext'] });
}

/**
 * @param {Element} host
 * @param {ShadowRoot} shadow
 */
function handOn(host, shadow) {
  // A plot would take the focus without a name and with nothing to do; its controls stand beside it.
  shadow.querySelector('.bk-events[tabindex="0"]')?.setAttribute('tabindex', '-1');
  const target = shadow.querySelector(FOCUSABLE);
  if (!target) return;
  for (const { name, value } of host.attributes) {
    if (!/^data-(aria-|role$)/.test(name)) continue;
    const inner = name.slice('data-'.length);
    if (target.getAttribute(inner) !== value) target.setAttribute(inner, value);
  }
}
