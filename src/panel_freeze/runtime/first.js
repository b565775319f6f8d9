// A plain script in the head, so that it runs first, and where modules do not: lets Python's worker load while the page
// is still being read, or says in a sentence why figures stay pictures.
(function () {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  /** @type {{ worker: Worker, error: ErrorEvent | null } | undefined} taken over by the page's own script */
  let early;

  const reason = whyNot();
  if (reason) return tell(reason);
  if (script.dataset.worker) startWorker(script.dataset.worker);
  // What the page's own script will import; not asked for in the page's head, since readers may have scripts off.
  (script.dataset.modules || '').split(' ').filter(Boolean).forEach(function (address) {
    document.head.append(Object.assign(document.createElement('link'), { rel: 'modulepreload', href: address }));
  });
  // Events of elements do not bubble, but pass by on their way down.
  addEventListener('error', function (event) {
    const failed = event.target;
    if (!(failed instanceof HTMLScriptElement) || failed.type !== 'module') return;
    if (early) early.worker.terminate();
    const name = failed.src.split('/').pop();
    tell('The script ' + name + ', or one that it needs, is missing on this site or blocked, so figures stay pictures.');
  }, true);

  function whyNot() {
    if (location.protocol === 'file:') {
      return 'Opened from a file, figures stay pictures; to make them answer, serve this folder: python -m http.server';
    }
    if (typeof WebAssembly !== 'object') return 'WebAssembly is turned off in this browser, so figures stay pictures.';
    if (typeof Worker !== 'function') return 'This browser has no workers, so figures stay pictures.';
    if (typeof DecompressionStream !== 'function' || !('noModule' in HTMLScriptElement.prototype)) {
      return 'This browser is too old to run Python, so figures stay pictures.';
    }
    return '';
  }

  /** @param {string} address */
  function startWorker(address) {
    early = { worker: new Worker(address, { type: 'module', name: 'python' }), error: null };
    const mine = early;
    mine.worker.onerror = function (event) {
      event.preventDefault();
      mine.error = event;
    };
    /** @type {any} */ (window).earlyPython = mine;
  }

  /** @param {string} why */
  function tell(why) {
    document.documentElement.dataset.figures = 'failed';
    if (document.readyState === 'loading') {
      document.addEventListener('DOMContentLoaded', function () { tell(why); });
      return;
    }
    document.querySelectorAll('figure[data-figure]').forEach(function (figure) {
      const note = document.createElement('p');
      note.className = 'trouble';
      note.textContent = why;
      figure.append(note);
    });
  }
})();
