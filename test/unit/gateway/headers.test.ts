import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import {
  toPrivateCacheControl,
  toResponseHeaders,
  toUpstreamHeaders,
  toVary,
} from '../../../src/gateway/headers.ts';
import { fc } from '../../support/properties.ts';

const forwarded = (...raw: string[]) => toUpstreamHeaders(raw, 'token', { requestId: 'id', trace: null });
const OWN = { requestId: 'id', serverTiming: 'session;dur=1', setsCookie: false, always: [] };
const returned = (...raw: string[]) => toResponseHeaders(raw, OWN);
const OURS = ['authorization', 'Bearer token', 'x-request-id', 'id', 'via', '1.1 cloakroom'];
const words = (text: string) => text.trim().split(/\s+/);

const HOP_BY_HOP = words(`
  Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade HTTP2-Settings
  Proxy-Authenticate Proxy-Authentication-Info Proxy-Authorization Proxy-Connection
`);

/** docs/decisions/0007 gives the reason for each header. */
const NEVER_FORWARDED = [
  ...HOP_BY_HOP,
  ...words(`
    Cookie Cookie2 Authorization Host Expect Via X-Request-Id Proxy Proxy-Client-IP Forwarded
    X-Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Forwarded-Prefix
    X-Forwarded-Server X-Forwarded-Client-Cert X-Forwarded-User X-Forwarded-Anything X-Real-IP
    X-Client-IP Client-IP X-Cluster-Client-IP True-Client-IP CF-Connecting-IP CF-Connecting-IPv6
    CF-Pseudo-IPv4 Fastly-Client-IP Fly-Client-IP Incap-Client-IP WL-Proxy-Client-IP X-Azure-ClientIP
    X-Azure-SocketIP X-Appengine-User-IP X-Envoy-External-Address X-Envoy-Internal X-ProxyUser-Ip
    X-Originating-IP X-Remote-IP X-Remote-Addr Remote-Addr X-Original-Forwarded-For X-Forward-For
    Forwarded-For Forwarded-For-IP Client-Cert Client-Cert-Chain X-Client-Cert X-SSL-Client-Cert
    SSL-Client-Verify X-Amzn-Mtls-Clientcert Remote-User X-Remote-User X-Scheme X-Url-Scheme X-ARR-SSL
    Front-End-Https Fastly-SSL WL-Proxy-SSL CF-Visitor CF-IPCountry X-Original-URL X-Original-Host
    X-Original-URI X-Rewrite-URL X-Host X-HTTP-Host-Override X-Envoy-Original-Path
  `),
];

const NEVER_RETURNED = [
  ...HOP_BY_HOP,
  ...words(`
    Set-Cookie Set-Cookie2 Clear-Site-Data Strict-Transport-Security Public-Key-Pins
    Public-Key-Pins-Report-Only Expect-CT Alt-Svc NEL Report-To Service-Worker-Allowed Accept-CH
    Set-Login Secure-Session-Registration Sec-Session-Registration Access-Control-Allow-Origin
    Access-Control-Allow-Credentials Access-Control-Expose-Headers Access-Control-Max-Age
    Access-Control-Anything X-Accel-Redirect X-Accel-Expires X-Sendfile X-Sendfile2
    X-Lighttpd-Send-File X-Reproxy-URL X-LiteSpeed-Location X-LiteSpeed-Cache-Control
    Surrogate-Control CDN-Cache-Control Edge-Control Cloudflare-CDN-Cache-Control
    X-Envoy-Immediate-Health-Check-Fail
  `),
];

/** Returns spellings of a header name that many servers treat as equivalent. */
function spellingsOf(name: string): string[] {
  const marked = ['_', '.', '!', '~', "'"].map((mark) => name.replaceAll('-', mark));
  return [name, name.toLowerCase(), name.toUpperCase(), ...marked, name.replace('-', '_')];
}

/** Returns all values of a header, in order. */
function valuesOf(headers: readonly string[], name: string): string[] {
  return headers.filter((_value, index) => headers[index - 1]?.toLowerCase() === name && index % 2 === 1);
}

describe('an upstream request', () => {
  test.each(NEVER_FORWARDED)('never contains the client’s %s, in any spelling', (name) => {
    for (const spelling of spellingsOf(name))
      expect([spelling, ...forwarded(spelling, 'hostile', spelling, 'again')]).toEqual([spelling, ...OURS]);
  });

  test.each([
    ...words(`
      Accept Accept-Encoding Accept-Language User-Agent Referer Origin Cache-Control Pragma DNT Priority
      Range If-Range If-Match If-None-Match If-Modified-Since If-Unmodified-Since Prefer Max-Forwards
      Content-Type Content-Length Content-Encoding Content-Language Content-Disposition Digest
      Sec-Fetch-Site Sec-Fetch-Mode sec-ch-ua Upgrade-Insecure-Requests X-Requested-With Last-Event-ID
      baggage Idempotency-Key X-Custom X_Custom x.custom Authorization_ X-Proxy
    `),
    // A page on another site can set these headers only after a preflight, which the gateway refuses.
    ...words('X-HTTP-Method-Override X-HTTP-Method X-Method-Override'),
  ])('contains the client’s %s', (name) => {
    expect(forwarded(name, 'value')).toEqual([name, 'value', ...OURS]);
  });

  test.each(words('Content_Length content.length CONTENT_TYPE Content_Encoding'))(
    'never contains %s, which some servers treat as the standard header',
    (name) => {
      expect(forwarded('Content-Length', '5', name, '50')).toEqual(['Content-Length', '5', ...OURS]);
    },
  );

  test('has no header that Connection lists, in any spelling', () => {
    const raw = words('X-One 1 X_Two 2 X-Three 3');
    expect(forwarded('Connection', 'close, X-One,x-two', ...raw)).toEqual(['X-Three', '3', ...OURS]);
  });

  test('has no header that one of several Connection headers lists, whatever their order', () => {
    const raw = words('X-One 1 connection keep-alive CONNECTION x-one');
    expect(forwarded(...raw, 'Connection', ' ,x.two,, ', 'X-Two', '2')).toEqual(OURS);
  });

  test('has the correct headers even after thousands of requests with unknown header names', () => {
    for (let count = 0; count < 3_000; count += 1) forwarded(`x-strange-${count}`, '1');
    expect(forwarded('Cookie', 'hostile', 'Accept', 'a/b')).toEqual(['Accept', 'a/b', ...OURS]);
  });

  test('has no forbidden header, in any spelling or combination', () => {
    const name = fc.constantFrom(...NEVER_FORWARDED, 'Accept', 'X-Custom', 'ETag');
    const mark = fc.constantFrom('-', '_', '.', '^', '|');
    const value = fc.constantFrom('close', 'via', 'authorization', 'accept', 'x');
    const field = fc
      .tuple(name, mark, fc.boolean(), value)
      .map(([plain, marks, isLoud, text]) => [
        (isLoud ? plain.toUpperCase() : plain).replaceAll('-', marks),
        text,
      ]);
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const sent = forwarded(...fields.flat());
        expect(sent.slice(-OURS.length)).toEqual(OURS);
        const kept = sent.slice(0, -OURS.length).filter((_text, index) => index % 2 === 0);
        expect(kept.filter((plain) => !/^(?:accept|x[-_.^|]custom|etag)$/i.test(plain))).toEqual([]);
      }),
    );
  });
});

describe('a response', () => {
  test.each(NEVER_RETURNED)('never contains the service’s %s, in any spelling', (name) => {
    for (const spelling of spellingsOf(name))
      expect({ spelling, headers: returned(spelling, 'hostile', spelling, 'again') }).toEqual({
        spelling,
        headers: returned(),
      });
  });

  test.each([
    ...words(`
      Content-Type Content-Length Content-Encoding Content-Range Content-Disposition Content-Language
      ETag Last-Modified Age Date Accept-Ranges Link Location Allow Retry-After Server WWW-Authenticate
      X-RateLimit-Limit RateLimit-Policy Deprecation Sunset Warning Server-Timing
      Content-Security-Policy Referrer-Policy Permissions-Policy Timing-Allow-Origin SourceMap Refresh
      Reporting-Endpoints Proxy-Status X-Accel-Buffering X-Powered-By X-Custom X_Custom x.custom
      traceparent Cross-Origin-Resource-Policy X-Cache X-Amz-Request-Id CF-Ray Preference-Applied
      Surrogate-Key
    `),
  ])('contains the service’s %s', (name) => {
    expect(returned(name, 'value')).toEqual([name, 'value', ...returned()]);
  });

  test.each<[what: string, raw: string[], name: string, values: string[]]>([
    ['only the gateway’s request id', words('X-Request-Id x X_Request_Id x'), 'x-request-id', ['id']],
    ['the gateway in Via', [], 'via', ['1.1 cloakroom']],
    ['the gateway last in Via', ['Via', '1.0 a', 'VIA', '1.1 b'], 'via', ['1.0 a, 1.1 b, 1.1 cloakroom']],
    ['only nosniff', words('X-Content-Type-Options sniff'), 'x-content-type-options', ['nosniff']],
    [
      'the timings from the service and the gateway',
      words('Server-Timing db;dur=9'),
      'server-timing',
      ['db;dur=9', 'session;dur=1'],
    ],
    [
      'a policy against scripts after the policy from the service',
      ['Content-Security-Policy', "default-src 'unsafe-inline' *"],
      'content-security-policy',
      ["default-src 'unsafe-inline' *", "default-src 'none'; frame-ancestors 'none'; sandbox"],
    ],
  ])('has %s', (_what, raw, name, values) => {
    expect(valuesOf(returned(...raw), name)).toEqual(values);
  });

  test('must not be stored by shared caches, even if the service allows it', () => {
    const headers = returned('Cache-Control', 'public', 'CACHE-CONTROL', 'max-age=5', 'Vary', 'accept');
    expect(valuesOf(headers, 'cache-control')).toEqual(['private, max-age=5']);
    expect(valuesOf(headers, 'vary')).toEqual(['accept, Cookie']);
    expect(valuesOf(returned(), 'cache-control')).toEqual(['private, no-cache']);
    const expiring = returned('Expires', 'Thu, 01 Jan 2099 00:00:00 GMT');
    expect(valuesOf(expiring, 'cache-control')).toEqual(['private']);
    expect(valuesOf(expiring, 'expires')).toHaveLength(1);
  });

  test('must not be stored by any cache if it sets a cookie', () => {
    const own = { ...OWN, setsCookie: true };
    const headers = toResponseHeaders(['Cache-Control', 'public, s-maxage=31536000'], own);
    expect(valuesOf(headers, 'cache-control')).toEqual(['private, no-store']);
  });

  test.each([
    ['an empty Cache-Control', 'Cache-Control', ''],
    ['a hop-by-hop Cache-Control', 'Connection', 'cache-control', 'Cache-Control', 'public'],
    ['a Cache_Control', 'Cache_Control', 'public, max-age=9'],
  ])('with %s from the service has the default Cache-Control', (_what, ...raw) => {
    expect(valuesOf(returned(...raw), 'cache-control')).toEqual(['private, no-cache']);
  });

  test('has no header that Connection lists', () => {
    expect(returned('Connection', 'x-one', 'X-One', '1', 'X_One', '2')).toEqual(returned());
  });

  test('has the gateway’s headers even if Connection lists them', () => {
    const ours = words(
      'via x-request-id server-timing content-security-policy x-content-type-options cache-control',
    );
    expect(returned('Connection', ours.join(', '))).toEqual(returned());
    expect(returned().filter((_value, index) => index % 2 === 0)).toEqual(expect.arrayContaining(ours));
  });
});

describe('Cache-Control of a response for a single user', () => {
  test.each([
    [['max-age=60'], 'private, max-age=60'],
    [['public, max-age=31536000, immutable'], 'private, max-age=31536000, immutable'],
    [['Public,S-MaxAge=60 , Max-Age=5'], 'private, Max-Age=5'],
    [['s-maxage=60, proxy-revalidate'], 'private'],
    [['public=1, s-maxage="60"'], 'private'],
    [['private, max-age=60'], 'private, max-age=60'],
    [['max-age=60, PRIVATE'], 'max-age=60, PRIVATE'],
    [['private="x-field, y", max-age=60'], 'private, max-age=60'],
    [['no-cache="set-cookie, public", max-age=60'], 'private, no-cache="set-cookie, public", max-age=60'],
    [['x="a\\", public, \\"b", max-age=1'], 'private, x="a\\", public, \\"b", max-age=1'],
    [['no-store'], 'no-store'],
    [['no-store="x"'], 'private, no-store="x"'],
    [['must-understand, no-store, max-age=9'], 'no-store, max-age=9'],
    [['must-revalidate, max-age=9'], 'private, must-revalidate, max-age=9'],
    [['public', 'max-age=60'], 'private, max-age=60'],
    [['max-age=60', 'private'], 'max-age=60, private'],
    [[' , ,max-age=5,\t'], 'private, max-age=5'],
  ])('%j becomes %s', (fields, expected) => {
    expect(toPrivateCacheControl(fields, false)).toBe(expected);
    expect(toPrivateCacheControl(fields, true)).toBe(expected);
  });

  test.each([
    ['an open quote', ['max-age=60, x="a, private']],
    ['an open quote across two fields', ['x="a', 'private, y="b']],
    ['a space in a directive', ['max age=60, private']],
    ['a semicolon', ['private; max-age=60']],
    ['an argument without a name', ['=60, private']],
    ['a space before an argument', ['max-age =60, private']],
    ['a control character', ['private\u0001, max-age=60']],
  ])('with %s is replaced by no-store', (_what, fields) => {
    expect(toPrivateCacheControl(fields, true)).toBe('private, no-store');
  });

  test.each([
    ['spaces', `a${' '.repeat(400_000)};`],
    ['spaces before a name', `${' '.repeat(400_000)};`],
    ['letters', `${'a'.repeat(400_000)};`],
    ['an argument', `a=${'a'.repeat(400_000)};`],
    ['an open quote', `a="${'\\a'.repeat(200_000)}`],
    ['directives', `${'a,'.repeat(200_000)};`],
  ])('is parsed in linear time (%s)', (_what, fields) => {
    const read = () => toPrivateCacheControl([fields], true);
    // A parser that backtracks would take minutes. Unlike Jest's timeout, the vm timeout can end a call that blocks the thread.
    expect(runInNewContext('read()', { read }, { timeout: 10_000 })).toBe('private, no-store');
  });

  test.each([[[]], [['']], [['', ' , ']]])(
    'leaves caching to Expires if that header is present and the service sent %j',
    (fields) => {
      expect(toPrivateCacheControl(fields, false)).toBe('private, no-cache');
      expect(toPrivateCacheControl(fields, true)).toBe('private');
    },
  );
});

test.each([
  [[], 'Cookie'],
  [['Accept-Encoding'], 'Accept-Encoding, Cookie'],
  [['accept, COOKIE', 'origin'], 'accept, origin, Cookie'],
  [[' , '], 'Cookie'],
  [['accept, *'], '*'],
])('Vary %j becomes %s', (fields, expected) => {
  expect(toVary(fields)).toBe(expected);
});
