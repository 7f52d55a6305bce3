/** Shows a thin bar while the next page loads. The stylesheet delays the bar, so that fast pages never show it. */

/** Shows the bar for links and forms that load another page into this tab. */
export function startLoadingBar() {
  // Listen on the window, which receives events last, so that other scripts have already called `preventDefault`.
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (link instanceof HTMLAnchorElement && isPlainClick(event) && loadsPage(link)) show();
  });
  addEventListener('submit', (event) => {
    const { target, submitter } = event;
    const opensIn = submitter?.getAttribute('formtarget') ?? (target instanceof Element && targetOf(target));
    if (!event.defaultPrevented && isThisTab(opensIn || '')) show();
  });
  addEventListener('pageshow', hide); // from the back/forward cache
  addEventListener('animationend', ({ animationName }) => {
    if (animationName.startsWith('loading')) hide(); // the link was a download, or the user stopped it
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

function isPlainClick({ button, metaKey, ctrlKey, shiftKey, altKey, defaultPrevented }: MouseEvent) {
  return button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey && !defaultPrevented;
}

function loadsPage(link: HTMLAnchorElement) {
  if (link.hasAttribute('download') || !isThisTab(targetOf(link)) || link.origin !== location.origin)
    return false;
  const isSamePage = link.pathname === location.pathname && link.search === location.search;
  return !(isSamePage && link.href.includes('#'));
}

const targetOf = (element: Element) => element.getAttribute('target') ?? '';

const isThisTab = (target: string) => target === '' || target === '_self';
