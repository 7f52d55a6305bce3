/** A thin bar for a page that is slow to come. The stylesheet holds it back for a moment: most pages are faster. */

/** Shows it for whatever leads to another page of this tab. */
export function startLoadingBar() {
  // On the window, so that a part of the page that does the work itself has said so by then.
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (link instanceof HTMLAnchorElement && isPlain(event) && leadsOn(link)) show();
  });
  addEventListener('submit', (event) => {
    const { target, submitter } = event;
    const opensIn = submitter?.getAttribute('formtarget') ?? (target instanceof Element && targetOf(target));
    if (!event.defaultPrevented && isHere(opensIn || '')) show();
  });
  addEventListener('pageshow', hide); // back from the page that came
  addEventListener('animationend', ({ animationName }) => {
    if (animationName.startsWith('loading')) hide(); // it was a download, or was stopped
  });
}

function show() {
  document.documentElement.dataset['loading'] = '';
  document.querySelector('main')?.setAttribute('aria-busy', 'true');
}

function hide() {
  delete document.documentElement.dataset['loading'];
  document.querySelector('main')?.removeAttribute('aria-busy');
}

/** @param {MouseEvent} event */
function isPlain({ button, metaKey, ctrlKey, shiftKey, altKey, defaultPrevented }) {
  return button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey && !defaultPrevented;
}

/** @param {HTMLAnchorElement} link */
function leadsOn(link) {
  if (link.hasAttribute('download') || !isHere(targetOf(link)) || link.origin !== location.origin)
    return false;
  const isSamePage = link.pathname === location.pathname && link.search === location.search;
  return !(isSamePage && link.href.includes('#'));
}

/** @param {Element} element */
const targetOf = (element) => element.getAttribute('target') ?? '';

/** @param {string} target */
const isHere = (target) => target === '' || target === '_self';
