// One figure on the page: its states, its drawing, and what it says when something fails.

/** @typedef {'picture' | 'painted' | 'live' | 'failed'} State */

/** What a figure calls on the page. */
/**
 * @typedef {object} Page
 * @property {(figure: string, kind: string, content: any) => void} send
 * @property {(figure: string) => void} again
 * @property {(text: string) => string} localise addresses in a document's JSON, made this site's own
 * @property {(figure: string, model: string, attr: string, seq: number | null) => boolean} pending whether the reader has changed it since
 * @property {any} Bokeh
 */

let serial = 0;

export class Figure {
  /**
   * @param {HTMLElement} element the `<figure data-figure>`
   * @param {{ name: string, module: string, number: number, document: string, root: string }} settings
   * @param {Page} page
   */
  constructor(element, settings, page) {
    this.element = element;
    this.name = settings.name;
    this.settings = settings;
    this.page = page;
    /** @type {any} */
    this.document = null;
    /** @type {State} */
    this.state = 'picture';
    this.stage = /** @type {HTMLElement} */ (element.querySelector('.stage'));
    /** @type {{ patch: any, seq: number | null }[]} patches that came before the drawing was there */
    this.backlog = [];
    /** @type {number | null} the page's message that the patch being applied is an answer to */
    this.answering = null;
    /** @type {Map<number, Set<HTMLElement>>} by such messages whose changes are to be outlined, what has changed */
    this.watched = new Map();
  }

  /** @param {State} state */
  enter(state) {
    if (this.state === state) return;
    this.state = state;
    this.element.dataset.state = state;
    document.dispatchEvent(new CustomEvent('figurestate', { detail: { figure: this.name, state } }));
  }

  /**
   * Draw a document where the picture is; the picture goes once the drawing is complete.
   * @param {any} json the document
   * @param {(_: any) => void} [drawn] called before the drawing is complete: its plots come with the next frames
   */
  async paint(json, drawn = () => {}) {
    const place = document.createElement('div');
    place.className = 'drawing';
    place.inert = true;
    this.stage.append(place);
    const roots = Object.fromEntries(json.roots.map((/** @type {any} */ root, /** @type {number} */ i) => {
      const element = document.createElement('div');
      element.id = `${this.name}-${i}-${(serial += 1)}`;
      place.append(element);
      return [root.id, element.id];
    }));
    const views = await this.#draw(place, json, roots);
    drawn(null);
    const doc = [...views.roots][0].model.document;
    await idle(doc);
    await frame();
    for (const child of [...this.stage.children]) if (child !== place) child.remove();
    place.inert = false;
    place.classList.add('shown');
    doc.on_change((/** @type {any} */ event) => this.#changed(event), false);
    this.document = doc;
    this.json = json;
    for (const { patch, seq } of this.backlog.splice(0)) this.apply(patch, seq);
    if (this.state === 'picture') this.enter('painted');
  }

  /**
   * @param {HTMLElement} place
   * @param {any} json
   * @param {Record<string, string>} roots ids of elements, by those of the models
   */
  async #draw(place, json, roots) {
    // The drawing's readouts come in one step and take the places of those behind the picture, or in a drawing that is
    // replaced: each stands once.
    const behind = this.stage.querySelector('.behind, .drawing.shown');
    const parent = behind?.parentElement;
    const taken = new MutationObserver(() => behind?.remove());
    taken.observe(place, { childList: true, subtree: true });
    try {
      const [views] = await this.page.Bokeh.embed.embed_items(
        { [this.name]: json }, [{ docid: this.name, roots, root_ids: Object.keys(roots) }]);
      return views;
    } catch (error) {
      place.remove();
      if (behind) parent?.append(behind);
      throw error;
    } finally {
      taken.disconnect();
    }
  }

  /** @param {any} event of BokehJS */
  #changed(event) {
    // A drawing that was replaced has nothing to say any more.
    if (event.sync === false || event.document !== this.document) return;
    const [change] = this.document.create_json_patch([event]).events;
    this.page.send(this.name, 'patch', change);
  }

  /**
   * Apply what Python changed, except what the reader has changed again meanwhile.
   * @param {{ events: any[] }} patch
   * @param {number | null} seq the page's message that it is an answer to, if to any
   */
  apply(patch, seq) {
    if (!this.document) {
      this.backlog.push({ patch, seq });
      return;
    }
    const events = patch.events.filter((event) =>
      !(event.kind === 'ModelChanged' && this.page.pending(this.name, event.model.id, event.attr, seq)));
    this.answering = seq;
    if (events.length) this.document.apply_json_patch({ ...patch, events });
    this.answering = null;
    const changed = seq === null ? undefined : this.watched.get(seq);
    for (const { model } of changed ? events : []) for (const element of this.#elements(model?.id)) changed?.add(element);
  }

  /**
   * The elements that show a model: its own, or those of the plots that draw its data.
   * @param {string | undefined} id
   * @returns {HTMLElement[]}
   */
  #elements(id) {
    const views = [...this.document.views_manager.query((/** @type {any} */ view) => view.model.id === id
      || (view.canvas_view && view.model.renderers.some((/** @type {any} */ renderer) => renderer.data_source?.id === id)))];
    return views.map((view) => view.el).filter((element) => element instanceof HTMLElement && element.dataset.quiet === undefined);
  }

  /**
   * Say in one sentence what went wrong; details unfold and can be copied.
   * @param {string} reason
   * @param {string} details
   */
  trouble(reason, details) {
    const place = this.#place();
    const sentence = document.createElement('p');
    sentence.textContent = reason;
    const unfold = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = 'Details';
    const text = document.createElement('pre');
    text.textContent = details;
    unfold.append(summary, button('Copy details', () => navigator.clipboard?.writeText(`${reason}\n\n${details}`)), text);
    this.stage.inert = this.state === 'failed';
    place.replaceChildren(sentence);
    if (this.state === 'failed') place.append(button('Try again', () => this.page.again(this.name)));
    if (details) place.append(unfold);
  }

  calm() {
    this.stage.inert = false;
    this.element.querySelector('.trouble')?.remove();
  }

  #place() {
    let place = /** @type {HTMLElement | null} */ (this.element.querySelector('.trouble'));
    if (!place) {
      place = document.createElement('div');
      place.className = 'trouble';
      // The same sentence at six figures is said once.
      if (!document.querySelector('.trouble[role=alert]')) place.setAttribute('role', 'alert');
      this.stage.before(place);
    }
    return place;
  }
}

/**
 * @param {string} name
 * @param {() => void} action
 */
function button(name, action) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = name;
  element.addEventListener('click', action);
  return element;
}

/** @param {any} doc of BokehJS */
function idle(doc) {
  return new Promise((resolve) => {
    if (doc.is_idle) resolve(null);
    else doc.idle.connect(() => resolve(null));
  });
}

function frame() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(resolve));
    // A page in the background draws no frames, and need not wait for any.
    setTimeout(resolve, 250);
  });
}
