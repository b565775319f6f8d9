// Lets the builder, outside the browser, call the bake's worker: window.bake(task, arguments) → result.
const worker = new Worker('bake-worker.js', { type: 'module' });
const site = await (await fetch('parts.json')).json();
const address = (/** @type {string} */ path) => new URL(path, location.href).href;
const parts = {
  ...Object.fromEntries(Object.entries(site.parts).filter(([, value]) => typeof value === 'string').map(([name, path]) => [name, address(String(path))])),
  libraries: Object.fromEntries(Object.entries(site.parts.libraries).map(([path, url]) => [path, address(String(url))])),
};

/** @type {any} */ (window).bake = (/** @type {string} */ task, /** @type {any} */ given) =>
  new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.result));
    worker.onerror = (event) => reject(new Error(event.message ?? 'the worker failed'));
    worker.postMessage({ task, parts, environment: site.environment, arguments: given });
  });
document.documentElement.dataset.bench = 'ready';
