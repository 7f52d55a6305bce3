import type { ShownView } from './view-browser.ts';

/**
 * Returns a view's violations of Cloakroom's content security guarantees. Checks the headers, the markup as the server sent
 * it, unexpected browser errors, and requests to other origins.
 */
export async function securityViolations(shown: ShownView): Promise<string[]> {
  return [
    ...policyViolations(shown.headers['content-security-policy'] ?? ''),
    ...Object.entries(HEADERS)
      .filter(([name, value]) => shown.headers[name] !== value)
      .map(([name]) => `has ${name}: ${shown.headers[name]}`),
    ...(await inlineMarkup(shown)),
    ...unexpectedErrors(shown),
    ...shown.crossOriginRequests.map((url) => `requests ${url}`),
  ];
}

/** Returns the errors that the browser reported, except those about an expected error status. */
export function unexpectedErrors(
  shown: Pick<ShownView, 'browserErrors' | 'status' | 'failingRequestStatus'>,
): string[] {
  const { browserErrors, status, failingRequestStatus = status } = shown;
  const isExpected = (text: string) =>
    failingRequestStatus >= 400 &&
    text.startsWith(`Failed to load resource: the server responded with a status of ${failingRequestStatus}`);
  return browserErrors.filter((text) => !isExpected(text));
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};
const PROMISED = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"];

function policyViolations(policy: string): string[] {
  const directives = new Set(policy.split(';').map((directive) => directive.trim()));
  const loose = /'unsafe-[\w-]+'|'nonce-|'strict-dynamic'|\*|\b(?:data|blob|https?):/.exec(policy);
  return [
    ...PROMISED.filter((directive) => !directives.has(directive)).map((missing) => `lacks ${missing}`),
    ...(loose === null ? [] : [`allows ${loose[0]}`]),
  ];
}

/** Finds inline code. The browser's own parser parses the markup into a document that is never shown. */
async function inlineMarkup({ blankPage, html }: ShownView): Promise<string[]> {
  return blankPage.evaluate<string[]>(`(${FIND_INLINE})(${JSON.stringify(html)})`);
}

const FIND_INLINE = `(html) => {
  const elements = [...new DOMParser().parseFromString(html, 'text/html').querySelectorAll('*')];
  const inline = elements
    .filter(({ localName, textContent }) => localName === 'style' || (localName === 'script' && textContent.trim() !== ''))
    .map(({ localName }) => 'inline <' + localName + '>');
  const attributes = elements
    .flatMap((element) => [...element.attributes])
    .filter(({ name, value }) => /^on|^style$|^srcdoc$/.test(name) || /^\\s*(?:javascript|data|vbscript|blob):/i.test(value))
    .map(({ name, value, ownerElement }) => name + '="' + value + '" on <' + ownerElement.localName + '>');
  return [...inline, ...attributes];
}`;
