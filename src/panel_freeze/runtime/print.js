// The ink of the plots: a canvas follows neither the page's colours nor the width of paper by itself.

/**
 * Draw the plots again when the page's colours change, and for paper.
 * @param {Map<string, import('./figure.js').Figure>} figures
 */
export function keepInk(figures) {
  const managers = () => [...figures.values()].map((figure) => figure.document?.views_manager).filter(Boolean);
  const isPlot = (/** @type {any} */ view) => view.repaint && view.canvas_view;
  // One in a closed fold has no size, and nothing to print.
  const shown = (/** @type {any} */ view) => view.el.getClientRects().length > 0;
  const plots = () => managers().flatMap((manager) => [...manager.query(isPlot)]).filter(shown);
  /** @type {(() => void)[]} what puts the plots of the screen back */
  let undo = [];

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    plots().forEach(redraw);
  });

  // No frame comes between this event and the print, so everything has to happen at once.
  addEventListener('beforeprint', () => {
    putBack();
    setFor(true);
    plots().forEach(redraw);
    undo = plots().map(replace);
  });

  addEventListener('afterprint', () => {
    putBack();
    setFor(false);
    plots().forEach(redraw);
  });

  function putBack() {
    for (const each of undo.splice(0)) each();
  }

  /** @param {boolean} paper */
  function setFor(paper) {
    document.documentElement.toggleAttribute('data-printing', paper);
    for (const manager of managers()) for (const view of manager.roots) view.after_resize?.();
  }
}

/** @param {any} plot */
function redraw(plot) {
  const { primary, overlays } = plot.canvas_view;
  // Wiped whole: BokehJS leaves half a pixel at the edges, with the old colour.
  for (const { canvas } of [primary, overlays]) canvas.width += 0;
  plot.invalidate_painters();
  plot.repaint();
}

/**
 * Put a copy in the place of a plot, and return what puts the plot back: Chromium prints a canvas blank that has
 * changed its size since the last frame.
 * @param {any} plot
 */
function replace(plot) {
  /** @type {HTMLCanvasElement[]} */
  const layers = [plot.canvas_view.primary.canvas, plot.canvas_view.overlays.canvas];
  const [{ width, height, clientWidth, clientHeight }] = layers;
  const copy = Object.assign(document.createElement('canvas'), { className: 'bk-layer', width, height });
  Object.assign(copy.style, { width: `${clientWidth}px`, height: `${clientHeight}px` });
  for (const layer of layers) copy.getContext('2d')?.drawImage(layer, 0, 0);
  layers[0].after(copy);
  const show = (/** @type {string} */ visibility) => layers.forEach((layer) => { layer.style.visibility = visibility; });
  show('hidden');
  return () => {
    copy.remove();
    show('');
  };
}
