// Runs in a page before anything of its own: notes when what happens, and uses controls as a reader would.
// The same for every page with figures: readouts are elements with data-readout; controls are hosts with data-label,
// or native inputs, found by their name for those who cannot see them. Where `drawsAll` is set, a page that draws
// figures only as they come near is asked for all of them.
(() => {
  const marks = {};
  const mark = (name) => { marks[name] ??= performance.now(); };
  const frame = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));

  // What the page shows, and when.
  new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach(() => mark('contentful')))
    .observe({ type: 'paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) probe.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
  document.addEventListener('DOMContentLoaded', async () => {
    const seen = [...document.querySelectorAll('figure[data-figure] picture img')]
      .find((image) => image.getBoundingClientRect().top < innerHeight);
    await seen?.decode();
    await frame();
    if (document.querySelector('figure[data-figure]')) mark('picture');
  });
  document.addEventListener('figurestate', () => {
    const states = [...document.querySelectorAll('figure[data-figure]')].map((figure) => figure.dataset.state);
    if (states.every((state) => state === 'painted' || state === 'live')) mark('painted');
  });
  // A converted page is drawn beforehand, below a spinner, and drawn again by Python.
  const watch = setInterval(() => {
    const drawn = window.Bokeh?.documents ?? [];
    if (!document.querySelector('figure[data-figure]') && drawn.length && drawn.every((doc) => doc.is_idle)) { mark('picture'); mark('painted'); }
    if (marks.painted) clearInterval(watch);
  }, 5);
  document.addEventListener('DOMContentLoaded', () => {
    const converted = document.body.classList.contains('pn-loading');
    const element = converted ? document.body : document.documentElement;
    const figures = [...document.querySelectorAll('figure[data-figure]')];
    const isLive = (figure) => figure.dataset.state === 'live';
    const distance = (figure) => {
      const { top, bottom } = figure.getBoundingClientRect();
      return Math.max(0, top - innerHeight, -bottom);
    };
    const nearest = () => figures.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    const look = () => {
      const ready = converted ? !element.classList.contains('pn-loading')
        : element.dataset.figures === 'live' && (!window.drawsAll || figures.every(isLive));
      if (!marks.near && (converted ? ready : figures.length && isLive(nearest()))) mark('near');
      if (element.dataset.figures === 'failed') probe.began(probe.trouble = new Error('The figures have failed.'));
      if (ready) { mark('live'); probe.began(); reached(); }
    };
    const observer = new MutationObserver(look);
    for (const each of [element, ...figures]) observer.observe(each, { attributes: true });
    look();
    if (window.drawsAll) document.dispatchEvent(new Event('drawfigures'));
  });

  let reached = () => {};
  const live = new Promise((resolve) => { reached = resolve; });

  // When what came from Python stands on the page: two frames after the last patch.
  let patched = 0;
  let painted = 0;
  const isPatch = (data) => (typeof data === 'string' ? data.startsWith('{"kind":"patch"') : data?.type === 'patch');
  window.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => {
        if (!isPatch(data)) return;
        patched = performance.now();
        frame().then(() => { painted = performance.now(); });
      });
    }
  };

  function* below(root) {
    for (const element of root.querySelectorAll('*')) {
      yield element;
      if (element.shadowRoot) yield* below(element.shadowRoot);
    }
  }
  const find = (root, ...selectors) => {
    for (const selector of selectors)
      for (const element of below(root)) if (element.matches(selector)) return element;
    throw new Error(`There is no ${selectors.join(', nor ')}.`);
  };
  const around = (element, selector) => {
    for (let at = element; at; at = at.getRootNode().host) if (at.closest(selector)) return at.closest(selector);
    return null;
  };
  const outermost = (element) => {
    for (let host = element.getRootNode().host; host; host = element.getRootNode().host) element = host;
    return element;
  };

  // A control and the places of a readout that follows it, in one figure. A page may have the readout twice, once in
  // what stands there without scripts.
  const figures = new Map();
  function figure({ control, readout }) {
    const key = `${control} ${readout}`;
    const selector = `[data-readout="${readout}"]`;
    if (!figures.get(key)?.control.isConnected || !figures.get(key).places.some((place) => place.querySelector(selector))) {
      const shown = find(document, selector);
      const card = around(shown, 'figure[data-figure]') ?? outermost(shown).shadowRoot;
      const roots = [...below(card)].filter((each) => each.matches(selector)).map((each) => each.getRootNode());
      const places = [...new Set(roots)].map((root) => (root === document ? card : root));
      const used = find(card, `[data-label="${control}"]`, `:is(input, select, button, [role=radiogroup])[aria-label="${control}"]`);
      figures.set(key, { places, control: used });
    }
    return { ...figures.get(key), selector };
  }

  let turn = 0;
  const there = new WeakSet();
  function use(control) {
    turn += 1;
    const back = there.has(control);
    if (back) there.delete(control); else there.add(control);
    const part = (selector) => (control.matches(selector) ? control : (control.shadowRoot ?? control).querySelector(selector));
    const handle = part('.noUi-handle');
    const slider = part('input[type=range]');
    const select = part('select');
    const radio = part('input[type=radio]:not(:checked)');
    if (handle) handle.dispatchEvent(new KeyboardEvent('keydown', { key: back ? 'ArrowLeft' : 'ArrowRight', bubbles: true, cancelable: true }));
    else if (slider) { slide(slider, back); tellOf(slider); }
    else if (radio) radio.click();
    else if (select) { select.selectedIndex = back ? 0 : 1; tellOf(select); }
    else part('button').click();
  }

  function slide(slider, back) {
    const before = slider.value;
    if (back) slider.stepDown(); else slider.stepUp();
    if (slider.value === before) { if (back) slider.stepUp(); else slider.stepDown(); } // it was at its end
  }

  function tellOf(control) {
    for (const kind of ['input', 'change']) control.dispatchEvent(new Event(kind, { bubbles: true, composed: true }));
  }

  // Change a control; resolves with the milliseconds until the readout has changed.
  function change(which, patience = 10000) {
    const { places, control, selector } = figure(which);
    const read = () => places.map((place) => [...place.querySelectorAll(selector)].map((each) => each.dataset.value));
    const before = read();
    // While a readout is drawn again it may be gone for a moment; that is no answer.
    const answered = () => read().some((values, place) => (
      values.length === before[place].length && values.some((value, i) => value !== before[place][i])));
    return new Promise((resolve) => {
      const began = performance.now();
      const stop = (result) => { observer.disconnect(); clearTimeout(timer); resolve(result); };
      const observer = new MutationObserver(() => { if (answered()) stop(performance.now() - began); });
      const timer = setTimeout(() => stop(null), patience);
      for (const place of places) observer.observe(place, { childList: true, subtree: true, attributes: true, characterData: true });
      use(control);
    });
  }

  async function changed(which) {
    const milliseconds = await change(which);
    if (milliseconds === null) throw new Error(`${which.control} has not changed ${which.readout}.`);
    return milliseconds;
  }

  async function quiet(milliseconds) {
    do await new Promise((go) => setTimeout(go, 10));
    while (performance.now() - Math.max(patched, painted) < milliseconds || painted < patched);
  }

  const probe = {
    marks,
    shift: 0,
    trouble: undefined,
    live,
    began: () => {},

    // Elements, `style` elements, and style sheets of every kind; one that many shadow roots adopt is one.
    census() {
      const elements = [...below(document)];
      const roots = [document, ...elements.map((each) => each.shadowRoot).filter(Boolean)];
      const sheets = new Set(roots.flatMap((root) => [...root.styleSheets, ...root.adoptedStyleSheets]));
      return { nodes: elements.length, styles: elements.filter((each) => each.localName === 'style').length, sheets: sheets.size };
    },

    // Once the page is live, change every figure until its readout answers. A site that queues what the reader does
    // is asked once; a converted page loses what comes in the moment after it is drawn, and is asked again. Resolves
    // when all have answered, or after `patience` milliseconds, with the marks that were reached.
    async answers(all, patience) {
      let late = 0;
      const over = new Promise((resolve) => { late = setTimeout(() => resolve(true), patience); });
      const began = new Promise((resolve, reject) => { probe.began = (error) => (error ? reject(error) : resolve()); });
      if (marks.live || probe.trouble) probe.began(probe.trouble);
      const answered = began.then(() => Promise.all(all.map(async (which) => {
        const queues = Boolean(document.querySelector('figure[data-figure]'));
        while (await change(which, queues ? patience : 1000) === null);
        mark(`answered ${which.readout}`);
      })));
      if (await Promise.race([answered, over]) !== true) mark('answered');
      clearTimeout(late);
      return marks;
    },

    // Milliseconds from a change to the changed readout, and to the repainted figure.
    async latency(which, times, pause) {
      const found = [];
      await quiet(500);
      for (let i = 0; i < times; i += 1) {
        const began = performance.now();
        const readout = await changed(which);
        await quiet(pause);
        found.push({ readout, repainted: painted - began });
      }
      return found;
    },

    async changes(all, times) {
      for (let i = 0; i < times; i += 1) await changed(all[i % all.length]);
      await quiet(300);
    },
  };
  window.probe = probe;
})();
