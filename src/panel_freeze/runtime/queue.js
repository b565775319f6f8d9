// What the reader did, on its way to Python: in order, one message at a time, merged while Python is busy.

/**
 * @typedef {object} Item
 * @property {string} figure
 * @property {string} kind `patch`, `set`, `point` or `query`
 * @property {any} content one change of BokehJS, pairs to set or to point at, or the pairs of a query
 * @property {(seq: number) => void} [sent] told of the message's number when it goes
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
    /** @type {{ figure: string, seq: number, items: Item[] } | null} the message that Python has not answered yet */
    this.waiting = null;
  }

  /** @param {Item} item */
  add(item) {
    const last = this.items.findLast(({ figure }) => figure === item.figure);
    if (item.kind === 'set' && last?.kind === 'set' && !('scene' in item.content)) {
      // Later values of the same keys hold; a scene that waits is set before them.
      last.content = { ...last.content, ...item.content };
      return this.flush();
    }
    const replaces = (/** @type {Item} */ other) => other.figure === item.figure
      && (item.kind === 'query' || item.kind === 'point' ? other.kind === item.kind : key(other) !== null && key(other) === key(item));
    // A newer value of the same property replaces the older one and takes the later place.
    this.items = this.items.filter((other) => !replaces(other));
    this.items.push(item);
    return this.flush();
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
    this.waiting = { figure, seq: this.seq, items: taken };
    const pairs = content && Object.entries(content);
    const body = kind === 'patch' ? { patch: { events: taken.map((item) => item.content) } }
      : kind === 'query' ? { query: content } : { pairs };
    for (const item of taken) item.sent?.(this.seq);
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
   * Whether the reader has changed a property of a model, and a message of Python's was sent before it knew.
   * @param {string} figure
   * @param {string} model
   * @param {string} attr
   * @param {number | null} seq the message of the page that Python's is an answer to, if to any
   */
  pending(figure, model, attr, seq) {
    return this.#unknown(figure, seq).some((item) => key(item) === `${model}.${attr}`);
  }

  /**
   * The same for a key of a figure's state.
   * @param {string} figure
   * @param {string} name
   * @param {number | null} seq
   */
  pendingKey(figure, name, seq) {
    return this.#unknown(figure, seq).some(({ kind, content }) => kind === 'set' && name in content);
  }

  /**
   * What Python had not seen of a figure when it sent something.
   * @param {string} figure
   * @param {number | null} seq
   */
  #unknown(figure, seq) {
    const onItsWay = this.waiting && this.waiting.seq !== seq ? this.waiting.items : [];
    return [...onItsWay, ...this.items].filter((item) => item.figure === figure);
  }
}

/** @param {Item} item */
function key({ kind, content }) {
  return kind === 'patch' && content.kind === 'ModelChanged' ? `${content.model.id}.${content.attr}` : null;
}
