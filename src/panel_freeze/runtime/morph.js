// Works new HTML into what is there: elements that stay keep their focus, their scroll and an unfinished drag, and only
// what differs is touched.

/**
 * @param {Element} into
 * @param {string} html
 * @param {(element: Element) => boolean} held whether the reader has a control in hand, so that its value is not Python's to set
 */
export function morph(into, html, held = () => false) {
  // Parsed as a document of its own: nothing in it runs or is fetched.
  children(into, new DOMParser().parseFromString(html, 'text/html').body, held);
}

/**
 * @param {Node} parent
 * @param {Node} wanted
 * @param {(element: Element) => boolean} held
 */
function children(parent, wanted, held) {
  let at = parent.firstChild;
  for (const want of [...wanted.childNodes]) {
    if (!at) {
      parent.appendChild(document.adoptNode(want));
    } else if (alike(at, want)) {
      const next = at.nextSibling;
      node(at, want, held);
      at = next;
    } else {
      const next = at.nextSibling;
      parent.replaceChild(document.adoptNode(want), at);
      at = next;
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/**
 * @param {Node} one
 * @param {Node} other
 */
function alike(one, other) {
  if (one.nodeType !== other.nodeType || one.nodeName !== other.nodeName) return false;
  return !(one instanceof HTMLInputElement && other instanceof HTMLInputElement) || one.type === other.type;
}

/**
 * @param {any} old
 * @param {any} want
 * @param {(element: Element) => boolean} held
 */
function node(old, want, held) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== want.nodeValue) old.nodeValue = want.nodeValue;
    return;
  }
  const mine = held(old);
  for (const { name } of [...old.attributes]) if (!want.hasAttribute(name) && !(mine && name === 'style')) old.removeAttribute(name);
  for (const { name, value } of want.attributes) {
    if (old.getAttribute(name) !== value && !(mine && name === 'style')) old.setAttribute(name, value);
  }
  children(old, want, held);
  if (!mine) control(old, want);
}

/**
 * What a form control holds is not in its attributes once the reader has used it.
 * @param {any} old
 * @param {any} want
 */
function control(old, want) {
  if (old instanceof HTMLInputElement) {
    if (old.type === 'radio' || old.type === 'checkbox') {
      const checked = want.hasAttribute('checked');
      if (old.checked !== checked) old.checked = checked;
    } else if (old.value !== (want.getAttribute('value') ?? '')) {
      old.value = want.getAttribute('value') ?? '';
    }
  } else if (old instanceof HTMLSelectElement) {
    const value = old.querySelector('option[selected]')?.getAttribute('value');
    if (value !== null && value !== undefined && old.value !== value) old.value = value;
  }
}
