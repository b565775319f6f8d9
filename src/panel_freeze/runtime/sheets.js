// BokehJS gives every view's shadow root the same style sheets over again, each as an element of its own. Here one
// constructed sheet for each text is adopted by all; only what a view writes for itself has a sheet of its own.

/** @type {Map<string, CSSStyleSheet>} */
const constructed = new Map();

/** @param {any} Bokeh */
export function shareSheets(Bokeh) {
  const sheet = inlineSheet(Bokeh);
  if (!sheet || !('adoptedStyleSheets' in Document.prototype)) return;

  /**
   * @param {HTMLElement | ShadowRoot} root
   * @this {any}
   */
  sheet.install = function (root) {
    this.root = root;
    this.place();
  };

  /**
   * Put the sheet where it belongs: one that stays as it is, is shared; one that a view writes again has its own.
   * @this {any}
   */
  sheet.place = function () {
    const text = this.el.textContent;
    if (!(this.root instanceof ShadowRoot)) {
      this.root.append(this.el);
    } else if (this.el.dataset.css === undefined) {
      this.leave();
      this.adopted = shared(text);
      this.root.adoptedStyleSheets.push(this.adopted);
    } else {
      if (!this.adopted) {
        this.adopted = new CSSStyleSheet();
        this.root.adoptedStyleSheets.push(this.adopted);
      }
      this.adopted.replaceSync(text);
    }
  };

  /**
   * @this {any}
   */
  sheet.leave = function () {
    if (!this.adopted) return;
    const adopted = [...this.root.adoptedStyleSheets];
    adopted.splice(adopted.indexOf(this.adopted), 1);
    this.root.adoptedStyleSheets = adopted;
    this.adopted = null;
  };

  /**
   * @this {any}
   */
  sheet.uninstall = function () {
    this.leave();
    this.el.remove();
    this.root = null;
  };

  /**
   * @param {string} text
   * @this {any}
   */
  sheet._update = function (text) {
    this.el.textContent = text;
    if (this.root) this.place();
  };
}

/** @param {string} text */
function shared(text) {
  let sheet = constructed.get(text);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    constructed.set(text, sheet);
  }
  return sheet;
}

/** The prototype of BokehJS's inline style sheets, or null where a release has none of the kind. @param {any} Bokeh */
function inlineSheet(Bokeh) {
  const made = new (Bokeh.Models.get('InlineStyleSheet'))({ css: '' }).underlying();
  const prototype = Object.getPrototypeOf(made);
  return typeof prototype.install === 'function' && typeof prototype._update === 'function' ? prototype : null;
}
