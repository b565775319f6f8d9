// Runs in a page before anything of its own: notes when what happens, and uses controls as a reader would.
// The same for every page with Panel figures: readouts are elements with data-readout, controls hosts with data-label.
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
    const look = () => {
      const ready = converted ? !element.classList.contains('pn-loading') : element.dataset.figures === 'live';
      if (element.dataset.figures === 'failed') probe.began(probe.trouble = new Error('The figures have failed.'));
      if (ready) { mark('live'); probe.began(); }
    };
    new MutationObserver(look).observe(element, { attributes: true });
    look();
  });

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
  const find = (root, selector) => {
    for (const element of below(root)) if (element.matches(selector)) return element;
    throw new Error(`There is no ${selector}.`);
  };
  const outermost = (element) => {
    for (let host = element.getRootNode().host; host; host = element.getRootNode().host) element = host;
    return element;
  };

  // A control and a readout that follows it.
  const figures = new Map();
  function figure({ control, readout }) {
    const key = `${control} ${readout}`;
    if (!figures.get(key)?.shown.isConnected) {
      const shown = find(document, `:host [data-readout="${readout}"], [data-readout="${readout}"]`).getRootNode();
      const label = find(outermost(shown.host).shadowRoot, `[data-label="${control}"]`);
      figures.set(key, { shown, label: label.shadowRoot });
    }
    return figures.get(key);
  }

  let turn = 0;
  const there = new WeakSet();
  function use(control) {
    turn += 1;
    const back = there.has(control);
    if (back) there.delete(control); else there.add(control);
    const handle = control.querySelector('.noUi-handle');
    const select = control.querySelector('select');
    const radios = control.querySelectorAll('input[type=radio]');
    if (handle) handle.dispatchEvent(new KeyboardEvent('keydown', { key: back ? 'ArrowLeft' : 'ArrowRight', bubbles: true, cancelable: true }));
    else if (radios.length) [...radios].filter((radio) => !radio.checked)[0].click();
    else if (select) { select.selectedIndex = back ? 0 : 1; select.dispatchEvent(new Event('change', { bubbles: true })); }
    else control.querySelector('button').click();
  }

  // Change a control; resolves with the milliseconds until the readout has changed.
  function change(which, patience = 10000) {
    const { shown, label } = figure(which);
    const read = () => shown.querySelector(`[data-readout="${which.readout}"]`)?.dataset.value;
    const before = read();
    return new Promise((resolve) => {
      const began = performance.now();
      const stop = (result) => { observer.disconnect(); clearTimeout(timer); resolve(result); };
      const observer = new MutationObserver(() => { if (read() !== undefined && read() !== before) stop(performance.now() - began); });
      const timer = setTimeout(() => stop(null), patience);
      observer.observe(shown, { childList: true, subtree: true, attributes: true, characterData: true });
      use(label);
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
    began: () => {},

    // Once the page is live, change every figure until its readout answers. A site that queues what the reader does
    // is asked once; a converted page loses what comes in the moment after it is drawn, and is asked again. Resolves
    // when all have answered, or after `patience` milliseconds, with the marks that were reached.
    async answers(all, patience) {
      let late = 0;
      const over = new Promise((resolve) => { late = setTimeout(() => resolve(true), patience); });
      const live = new Promise((resolve, reject) => { probe.began = (error) => (error ? reject(error) : resolve()); });
      if (marks.live || probe.trouble) probe.began(probe.trouble);
      const answered = live.then(() => Promise.all(all.map(async (which) => {
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
