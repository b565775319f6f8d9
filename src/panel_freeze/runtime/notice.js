// A plain script, so that it runs where modules do not: says why figures stay pictures.
(function () {
  let reason = '';
  if (location.protocol === 'file:') {
    reason = 'Opened from a file, figures stay pictures; to make them answer, serve this folder: python -m http.server';
  } else if (typeof WebAssembly !== 'object') {
    reason = 'WebAssembly is turned off in this browser, so figures stay pictures.';
  } else if (typeof Worker !== 'function') {
    reason = 'This browser has no workers, so figures stay pictures.';
  } else if (typeof DecompressionStream !== 'function' || !('noModule' in HTMLScriptElement.prototype)) {
    reason = 'This browser is too old to run Python, so figures stay pictures.';
  }
  if (!reason) return;
  document.documentElement.dataset.figures = 'failed';
  document.querySelectorAll('figure[data-figure]').forEach(function (figure) {
    const note = document.createElement('p');
    note.className = 'trouble';
    note.textContent = reason;
    figure.append(note);
  });
})();
