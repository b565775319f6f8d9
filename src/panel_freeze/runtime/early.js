// A plain script in the head: lets the worker load while the page is still being read. The page's own script takes it
// over, with the error it may have met by then.
(function () {
  const address = document.currentScript && document.currentScript.dataset.worker;
  if (!address || location.protocol === 'file:' || typeof Worker !== 'function') return;
  /** @type {{ worker: Worker, error: ErrorEvent | null }} */
  const early = { worker: new Worker(address, { type: 'module', name: 'python' }), error: null };
  early.worker.onerror = function (event) {
    event.preventDefault();
    early.error = event;
  };
  /** @type {any} */ (window).earlyPython = early;
})();
