/** Names that belong to one connection only (RFC 9110 §7.6.1), beside those that `Connection` lists. */
const HOP_BY_HOP = `
  close connection http2-settings keep-alive te trailer transfer-encoding upgrade
  proxy-authenticate proxy-authentication-info proxy-authorization proxy-connection
`;

const NEVER_FORWARDED = new Set([
  ...words(HOP_BY_HOP),
  ...words('authorization cookie cookie2'),
  'expect', // answered here
  'host', // the service's own takes its place
  ...words('via x-request-id'), // ours take their place
  ...words('traceparent tracestate'), // pass only where they are well formed
  // Who the client is and how it came here is not for the client to say:
  ...words(`
    cf-connecting-ip cf-connecting-ipv6 cf-ipcountry cf-pseudo-ipv4 cf-visitor client-cert client-cert-chain client-ip
    fastly-client-ip fastly-ssl fly-client-ip forwarded forwarded-for forwarded-for-ip front-end-https incap-client-ip
    remote-addr remote-user true-client-ip wl-proxy-client-ip wl-proxy-ssl x-appengine-user-ip x-arr-ssl
    x-appengine-remote-addr x-azure-clientip x-azure-socketip x-client-cert x-client-ip x-cluster-client-ip x-envoy-external-address
    x-envoy-internal x-forward-for x-nf-client-connection-ip x-originating-ip x-proxyuser-ip x-real-ip x-remote-addr x-remote-ip x-remote-user
    x-scheme x-true-client-ip x-url-scheme x-vercel-forwarded-for
  `),
  // Nor where the call is to go instead:
  ...words('x-envoy-original-path x-host x-http-host-override x-rewrite-url'),
]);
/** `Proxy` alone becomes `HTTP_PROXY` in a CGI program (httpoxy). */
const NEVER_FORWARDED_KIND = /^(?:proxy(?:-|$)|x-forwarded|x-original-|(?:x-)?ssl-client-|x-amzn-mtls-)/;

/** The reasons for each are in docs/decisions/0016. */
const NEVER_RETURNED = new Set([
  ...words(HOP_BY_HOP),
  ...words('set-cookie set-cookie2'),
  ...words('cache-control vary via x-content-type-options x-request-id'), // ours take their place
  // What a browser applies to all of our origin:
  ...words(`
    accept-ch alt-svc clear-site-data expect-ct nel public-key-pins public-key-pins-report-only report-to
    sec-session-registration secure-session-registration service-worker-allowed set-login strict-transport-security
  `),
  // What a proxy in front of us obeys:
  ...words(`
    cdn-cache-control edge-control surrogate-control x-accel-expires x-accel-redirect
    x-envoy-immediate-health-check-fail x-lighttpd-send-file x-litespeed-cache-control x-litespeed-location
    x-reproxy-url x-sendfile x-sendfile2
  `),
]);
/** No other site may read our answers, whatever the service says of its own. */
const NEVER_RETURNED_KIND = /^access-control-|-cdn-cache-control$/;

/** Whether a browser's header of this name, in whatever spelling, goes on to the service. */
export const isForwarded = createNameRule(
  (plain, name) =>
    !NEVER_FORWARDED.has(plain) &&
    !NEVER_FORWARDED_KIND.test(plain) &&
    // To some servers a `Content_Length` is the length, too.
    (!plain.startsWith('content-') || plain === name.toLowerCase()),
);

/** Whether a service's header of this name, in whatever spelling, goes back to the browser. */
export const isReturned = createNameRule(
  (plain) => !NEVER_RETURNED.has(plain) && !NEVER_RETURNED_KIND.test(plain),
);

/** Servers that make a variable of each header read `_`, `.` and other marks as `-`: none spells a name past a rule. */
export function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z\d]/g, '-');
}

const MOST_REMEMBERED = 500;
const LONGEST_REMEMBERED = 64;

/** Remembers its verdicts: calls bring the same few names again and again. Strange ones push each other out. */
function createNameRule(judge: (plain: string, name: string) => boolean): (name: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = judge(toPlainName(name), name);
    if (verdicts.size >= MOST_REMEMBERED) verdicts.clear();
    if (name.length <= LONGEST_REMEMBERED) verdicts.set(name, verdict);
    return verdict;
  };
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
