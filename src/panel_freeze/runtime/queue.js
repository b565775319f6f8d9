// What the reader did, on its way to Python: in order, one message at a time, merged while Python is busy.

/**
 * @typedef {object} Item
 * @property {string} figure
 * @property {string} kind `patch` or `query`
 * @property {any} content one change of BokehJS, or the pairs of a query
 */

export class Queue {
  /**
   * @param {(message: any) => void} post
   * @param {(figure: string) => boolean} ready whether Python can take messages for a figure
   */
  constructor(post, ready) {
    this.post = post;
    this.ready = ready;
    /** @type {Item[]} */
    this.items = [];
    this.seq = 0;
    /** @type {{ figure: string, seq: number } | null} the message that Python has not answered yet */
    this.waiting = null;
  }

  /** @param {Item} item */
  add(item) {
    const same = (/** @type {Item} */ other) => other.figure === item.figure
      && (item.kind === 'query' ? other.kind === 'query' : key(other) !== null && key(other) === key(item));
    // A newer value of the same property replaces the older one and takes the later place.
    this.items = this.items.filter((other) => !same(other));
    this.items.push(item);
    this.flush();
  }

  flush() {
    if (this.waiting) return;
    const first = this.items.findIndex(({ figure }) => this.ready(figure));
    if (first < 0) return;
    const { figure, kind, content } = this.items[first];
    // Changes of one figure that follow each other go together.
    let end = first + 1;
    if (kind === 'patch') while (this.items[end]?.figure === figure && this.items[end].kind === 'patch') end += 1;
    const taken = this.items.splice(first, end - first);
    this.seq += 1;
    this.waiting = { figure, seq: this.seq };
    const body = kind === 'patch' ? { patch: { events: taken.map((item) => item.content) } } : { query: content };
    this.post({ kind, figure, seq: this.seq, ...body });
  }

  /** @param {number} seq */
  done(seq) {
    if (this.waiting?.seq !== seq) return;
    this.waiting = null;
    this.flush();
  }

  /**
   * Whether something of a figure is on its way or waits.
   * @param {string} figure
   */
  holds(figure) {
    return this.waiting?.figure === figure || this.items.some((item) => item.figure === figure);
  }

  /** Python is gone: what it had not answered will not be answered. */
  reset() {
    this.waiting = null;
  }

  /**
   * Whether the reader has changed a property and Python has not seen it yet.
   * @param {string} figure
   * @param {string} model
   * @param {string} attr
   */
  pending(figure, model, attr) {
    return this.items.some((item) => item.figure === figure && key(item) === `${model}.${attr}`);
  }
}

/** @param {Item} item */
function key({ kind, content }) {
  return kind === 'patch' && content.kind === 'ModelChanged' ? `${content.model.id}.${content.attr}` : null;
}
