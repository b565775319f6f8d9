// The contents show where the reader is: the link to the section being read is the current one.

/** Follow the reader through the sections that the page's contents list, if it has any. */
export function followReader() {
  /** @type {Map<Element, HTMLAnchorElement>} */
  const links = new Map();
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('.contents a[href^="#"]'))) {
    const heading = document.getElementById(link.hash.slice(1));
    if (heading) links.set(heading, link);
  }
  // A section is being read once its heading is above the lower two thirds of the window, however far.
  const observer = new IntersectionObserver(() => {
    const passed = [...links.keys()].filter((heading) => heading.getBoundingClientRect().top < 0.34 * innerHeight);
    for (const [heading, link] of links) {
      if (heading === passed.at(-1)) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }, { rootMargin: '1000000px 0px -66% 0px' });
  for (const heading of links.keys()) observer.observe(heading);
}
