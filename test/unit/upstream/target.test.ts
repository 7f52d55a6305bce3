import { describe, expect, test } from '@jest/globals';
import { checkTarget } from '../../../src/upstream/target.ts';
import { fc, scaled } from '../../support/properties.ts';

const PREFIX = '/api/public/v1/';
const AUTHORIZATION = '/api/public/v1/authorization/oauth2';
const check = (target: string) => checkTarget(target, [PREFIX]);

const forwards = (targets: string | readonly string[]) => expectEach(targets, 'forward');
const refuses = (targets: string | readonly string[]) => expectEach(targets, 'malformed');
const disallows = (targets: string | readonly string[]) => expectEach(targets, 'not-allowed');

/** Creates a test for each target. A target without a leading slash is appended to the prefix. */
function expectEach(targets: string | readonly string[], result: ReturnType<typeof checkTarget>): void {
  const words = { forward: 'is forwarded', malformed: 'is malformed', 'not-allowed': 'is not allowed' };
  test.each(listOf(targets))(`%j ${words[result]}`, (target) => {
    expect(check(target.startsWith('/') ? target : PREFIX + target)).toBe(result);
  });
}

/** Splits text at whitespace. */
function listOf(targets: string | readonly string[]): readonly string[] {
  return typeof targets === 'string' ? targets.trim().split(/\s+/) : targets;
}

describe('ordinary targets', () => {
  forwards(`
    workspaces workspaces/ workspaces/abc/rooms rooms/A-Z_a.z~09 rooms/!$&'()*,:=@ rooms/a+b
    rooms/.hidden rooms/..hidden rooms/a..b rooms/dotted. rooms/... rooms/.... @evil.test/x :80/x
    http:/x murals/workspace1.1606;version=2/x rooms/a;b rooms/;b
  `);
  forwards(['', `rooms/${'a'.repeat(8_000)}`, 'a/'.repeat(4_000)]);
  refuses(['rooms/;b/x', `${'a/'.repeat(4_000)}/`]);
});

describe('request target forms (RFC 9112 §3.2)', () => {
  test.each([
    '',
    ' /api/public/v1/workspaces',
    ...listOf(String.raw`
    * http://127.0.0.1/api/public/v1/workspaces HTTPS://service.test/api/public/v1/workspaces
    file:///api/public/v1/workspaces example.com:443 127.0.0.1 [::1]:80 api/public/v1/workspaces
    ./api/public/v1/workspaces \api\public\v1\workspaces ?/api/public/v1/workspaces
    ;/api/public/v1/workspaces %2fapi/public/v1/workspaces
  `),
  ])('%j is malformed', (target) => {
    expect(check(target)).toBe('malformed');
  });
  refuses(String.raw`
    workspaces#top workspaces# # workspaces?x#top workspaces?#/../.. //api/public/v1/x
    //evil.test/api/public/v1/x ///api/public/v1/x /\evil.test/api/public/v1/x
  `);
});

describe('dot segments', () => {
  refuses(String.raw`
    . .. ./ ../ ./x ../v2/x x/. x/.. x/./y x/../y ../../../x %2e %2e%2e %2E./x .%2e/x %2e%2E/x
    x/%2e%2e %252e%252e/x %25252e%25252e/x %2525252e./x %25%32%65%25%32%65/x %2%65 ..%2fx ..%2Fx
    ..%252fx ..%5cx ..%255cx ..\x x\..\y x%2f..%2fy x%5c.. ..;/x ..;a=b/x ..%3b/x ..%3ba%2fx .;/x
    x/..;
  `);
  // A server that decodes first would end the path after the dot segment:
  refuses(['..%3f', '..%3fa/x', 'x/..%23', '%2e%2e%253f']);
  // A server that trims each segment would find dot segments:
  refuses(['..%20/x', '%20../x', '..+/x', '..%c2%a0/x']);
  forwards(['x%3f', 'x%23top', '%3f', '.%2e.', '..a', 'a%2e%2e', '%2ehidden', 'a..%2fb']);
});

describe('a path that is percent-encoded repeatedly', () => {
  const escaped = (hex: string, depth: number) => `%${'25'.repeat(depth)}${hex}`;
  test.each(Array.from({ length: 33 }, (_, depth) => depth))('is refused (%i extra layers)', (depth) => {
    expect(check(`${PREFIX}x/${escaped('2e', depth).repeat(2)}/y`)).toBe('malformed');
    expect(check(`${PREFIX}..${escaped('2f', depth)}x`)).toBe('malformed');
    expect(check(`${PREFIX}${escaped('61', depth)}uthorization/oauth2/token`)).not.toBe('forward');
  });
});

describe('empty segments and slashes', () => {
  refuses(String.raw`
    ${PREFIX}/x ${PREFIX}//x x// x//y %2fx %2Fx %252fx x/%2f/y x%2f%2fy x%2f/y
    \x %5cx x\\y x/\y x%5c/y ;a/x ;/x %3b/x x/;/y
  `);
  forwards(String.raw`
    x%2f x%5c x\ x\y rooms/a%2Fb rooms/a%2fb%5Cc rooms/a%252Fb a;b%2Fc
  `);
});

describe('encodings', () => {
  forwards(`
    rooms/caf%C3%A9 rooms/caf%c3%a9 rooms/a%20b rooms/%41%2D%5f rooms/%F0%9F%A6%8A
    rooms/%E4%BD%A0%E5%A5%BD rooms/%2541 rooms/%252541 rooms/%25252541 rooms/%22%3c%3e%7c%7b%7d%5e%60
    rooms/%26%3d%2b%40%3a%2c
  `);
  forwards([`rooms/%${'25'.repeat(6)}41`]);
  refuses(`
    % %2 %zz %g1 x% x%/y %% %u002e%u002e/x %0x2e %25 %25zz 100%25 %2525
  `);
  refuses([`%${'25'.repeat(7)}41`, `%${'25'.repeat(2_000)}41`]);
  // Invalid UTF-8: stray bytes, overlong sequences, surrogates, and values past the last code point.
  refuses(`
    %ff %80 %c3 %c3/%a9 %e9 %c0%ae%c0%ae/x %c0%2e %c0%af %c1%9c %c1%a1 %e0%80%ae %e0%80%af
    %f0%80%80%ae %f8%80%80%80%ae %ed%a0%80 %f4%90%80%80 %25c0%25ae
  `);
});

describe('control characters and bytes that are not allowed in a path', () => {
  refuses(`
    %00 x%00 x%00.json %2500 %252500 %01 %09 %0a %0d%0aX:y %250d%250a %1f %7f %c2%80 %c2%85 %c2%9f
  `);
  refuses(['x\u0000', 'x\ty', 'x\ny', 'x y', 'x ', 'x\u007f', 'x\u0085', 'x\u00e9', 'x\u00ff', 'x\uff0f']);
});

describe('queries', () => {
  forwards(`
    ? workspaces? workspaces?limit=2&next=a%2Fb== workspaces?path=/../../x&y=//&z=%00 workspaces?%
    workspaces?%zz%ff%0d%0a workspaces?a?b?c workspaces?/api/public/v1/authorization/oauth2
    rooms/a%2Fb?x=%2F
  `);
  forwards(['workspaces?a;b\\c|d{e}"f"<g>^`', 'workspaces?caf\u00c3\u00a9']);
  refuses([
    '..?x',
    '%?x',
    'x?a\u0000b',
    'x?a\tb',
    'x?a\r\nb',
    'x?a b',
    'x?\u001f',
    'x?\u007f',
    'a%2Fb?x\u0000',
  ]);
  disallows(['/api/public/v1?/x', '/x?/api/public/v1/x', `${AUTHORIZATION}?x`, `${AUTHORIZATION}/?x`]);
});

describe('the allowed prefix', () => {
  disallows(String.raw`
    / /api /api/ /api/public/v1 /api/public/v10/x /api/public/v1x/y /api/public/v1./x
    /api/public/v1%20/x /api/public/v2/x /api/PUBLIC/v1/x /API/public/v1/x /x/api/public/v1/x
    /api/public%2fv1/workspaces /api/public/v1%2fworkspaces /api/public/v%31/workspaces
    /api/publi%63/v1/workspaces /api;x/public/v1/workspaces /api/public/v1;x/workspaces
    /api\public\v1\workspaces /api/public/v1\workspaces /api/public/%EF%BD%961/workspaces /workspaces
    /auth/session
  `);

  const several = ['/api/public/v1/', '/api/public/v2/rooms/', "/api/it's+(v3)/"];
  test.each<[string, ReturnType<typeof checkTarget>]>([
    ['/api/public/v1/x', 'forward'],
    ['/api/public/v2/rooms/x', 'forward'],
    ['/api/public/v2/rooms/', 'forward'],
    ["/api/it's+(v3)/x", 'forward'],
    ['/api/public/v2/rooms', 'not-allowed'],
    ['/api/public/v2/roomsx/y', 'not-allowed'],
    ['/api/public/v2/murals/x', 'not-allowed'],
    ["/api/it's%2B(v3)/x", 'not-allowed'],
    ['/api/public/v2/rooms/..', 'malformed'],
    ['/api/public/v2/rooms/%2e%2e%2fmurals/x', 'malformed'],
    [`${AUTHORIZATION}/token`, 'not-allowed'],
  ])('may be one of several (%s: %s)', (target, result) => {
    expect(checkTarget(target, several)).toBe(result);
  });

  test.each<[string, ReturnType<typeof checkTarget>]>([
    ['/api/x', 'forward'],
    ['/api/Public/V1/authorization', 'forward'],
    ['/api/public/v1/authorization/oauth2', 'not-allowed'],
    ['/api/PUBLIC/v1/authorization/oauth2/token', 'not-allowed'],
    ['/api/public;a/v1;b/authorization/oauth2', 'not-allowed'],
    ['/api/public;%2fx/v1/authorization/oauth2', 'not-allowed'],
    ['/api/public%2fv1%2fauthorization%2foauth2', 'not-allowed'],
    ['/apis/x', 'not-allowed'],
  ])('may be as short as /api/ (%s: %s)', (target, result) => {
    expect(checkTarget(target, ['/api/'])).toBe(result);
  });

  test('never allows the authorization endpoints, even if the prefix is the path of these endpoints', () => {
    expect(checkTarget(`${AUTHORIZATION}/token`, [`${AUTHORIZATION}/`])).toBe('not-allowed');
  });
});

describe('the authorization endpoints', () => {
  disallows(String.raw`
    authorization/oauth2 authorization/oauth2/ authorization/oauth2/token authorization/oauth2/x/y/z
    Authorization/OAuth2/token AUTHORIZATION/OAUTH2 authorization%2foauth2/token
    authorization%252foauth2/token authorization%25252foauth2 authorization\oauth2
    authorization%5Coauth2%5Ctoken %61uthorization/oauth2 %2561uthorization/oauth2
    authorization/%6f%61%75%74%68%32 authorization/oauth%32/token %41uthorization%2FOAUTH2
  `);
  // Path parameters, which servers remove before decoding (as Tomcat does) or afterwards:
  disallows(String.raw`
    authorization;a/oauth2;b/token authorization;/oauth2 authorization%3b/oauth2
    authorization%253ba/oauth2 authorization/oauth2;jsessionid=1 authorization/oauth2%3b/token
    authorization;%2fx/oauth2/token authorization;%5cx/oauth2 authorization;\x/oauth2
    authorization;a%2fb%2fc/oauth2;%2fd/token authorization%253b%25252fx/oauth2
  `);
  // For servers that decode the path before they remove the query:
  disallows(`
    authorization/oauth2%3f authorization/oauth2%3fx/y authorization/oauth2%23 authorization/oauth2%253fx
  `);
  // For servers that trim each segment:
  disallows(`
    authorization/oauth2. authorization/oauth2... authorization./oauth2/token authorization/oauth2%20
    authorization/%20oauth2 authorization/oauth2+ authorization/oauth2.%20./token
  `);
  forwards(`
    authorization authorization/ authorization/other authorization/oauth20 authorization/oauth
    authorization/oauth2x/token authorization/oauth2-docs authorization/oauth2.json
    authorization/v1/oauth2 authorizations/oauth2 rooms/authorization/oauth2
    rooms;x/authorization/oauth2 rooms/authorization%2Foauth2
  `);
});

describe('look-alike characters', () => {
  // Some servers normalise names (NFKC), fold case as Java does, or remove invisible characters.
  // Full stops (fullwidth, one-dot leader, two-dot leader, small):
  refuses('%EF%BC%8E%EF%BC%8E/x %E2%80%A4%E2%80%A4/x %E2%80%A5/x %EF%B9%92./x');
  // Slashes (fullwidth, fullwidth reverse, fraction, division) and a set minus:
  refuses('..%EF%BC%8Fx ..%EF%BC%BCx ..%E2%81%84x ..%E2%88%95x ..%E2%88%96x');
  disallows('%EF%BC%8F/authorization/oauth2/token authorization/%EF%BC%8Foauth2'); // for servers that then merge slashes
  // A fullwidth semicolon, a Greek question mark, a zero-width space and a soft hyphen:
  refuses('..%EF%BC%9Bx/y ..%CD%BE/x ..%E2%80%8B/x .%C2%AD./x');
  // Percent signs (fullwidth, fullwidth before another encoded percent sign, small):
  refuses('%EF%BC%852e%EF%BC%852e/x %EF%BC%85252e%EF%BC%85252e/x %EF%B9%AA00');
  // A dotless i, a dotted capital I, a fullwidth a, and a fullwidth or superscript 2:
  disallows(`
    author%C4%B1zation/oauth2 author%C4%B0zation/oauth2 %EF%BD%81uthorization/oauth2
    authorization/oauth%EF%BC%92 authorization/oauth%C2%B2
  `);
  // Variants of o (masculine ordinal, circled, mathematical bold, with an acute accent):
  disallows(`
    authorization/%C2%BAauth2 authorization/%E2%93%9Eauth2 authorization/%F0%9D%90%A8auth2 authorization/o%CC%81auth2
  `);
  // Slashes (fullwidth, division), a soft hyphen, a zero-width space and a byte order mark:
  disallows(`
    authorization%EF%BC%8Foauth2 authorization%E2%88%95oauth2 authorization/oauth%C2%AD2
    authorization/oauth2%E2%80%8B/token authorization/%EF%BB%BFoauth2
  `);
  // A question mark, a semicolon and a percent sign, all fullwidth:
  disallows('authorization/oauth2%EF%BC%9F authorization%EF%BC%9B/oauth2 authorization%EF%BC%852foauth2');
  // A fullwidth A, solidus and percent sign, an ellipsis, a Kelvin sign, a long and a sharp s, and a zero-width joiner:
  forwards(`
    rooms/%EF%BC%A1 rooms/a%EF%BC%8Fb rooms/100%EF%BC%85 rooms/%E2%80%A6 rooms/%E2%84%AAelvin rooms/%C5%BFtra%C3%9Fe
    rooms/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB
  `);
  // Cyrillic a and e, which servers do not read as Latin letters:
  forwards('rooms/%D0%B0%D0%B5 %D0%B0uthorization/oauth2');
});

describe('a forwarded target', () => {
  const attack = fc
    .array(
      fc.constantFrom(
        ...listOf(String.raw`
          / \ %2f %5c %252f . .. %2e %252e ; %3b %253b ? %3f # %23 % %25 2e 2f %00 %20 + @ : & = é %C3%A9
          %c0%ae %ef%bc%8e %ef%bc%8f %ef%bc%85 %c2%ad /authorization /oauth2 ;%2fx/ /.. // a x=1 token
          authorization Authorization oauth2 OAUTH2 oauth%32 author%C4%B1zation
        `),
        '\t',
      ),
      { maxLength: 10 },
    )
    .map((pieces) => PREFIX + pieces.join(''));

  test('has the same host and an allowed path according to the WHATWG URL parser', () => {
    fc.assert(
      fc.property(attack, (target) => {
        if (check(target) !== 'forward') return;
        const { pathname, host } = new URL(target, 'http://service.test');
        expect(host).toBe('service.test');
        expectAllowed(pathname);
      }),
      { numRuns: scaled(5_000) },
    );
  });

  test('has an allowed path on servers that normalise it, whatever the order of their steps', () => {
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(attack, steps, (target, order) => {
        if (check(target) !== 'forward') return;
        const path = target.split('?', 1)[0] ?? '';
        expectAllowed(order.reduce((read, step) => step(read), path));
      }),
      { numRuns: scaled(20_000) },
    );
  });

  test('gets the same result whichever letters after the prefix are percent-encoded', () => {
    const piece = fc.constantFrom('a', 'b', '/', '.', ';', '-', '~', 'authorization', 'oauth2', 'token');
    const chosen = fc.array(fc.tuple(piece, fc.boolean()));
    const encode = (text: string) => `%${[...Buffer.from(text)].map((byte) => byte.toString(16)).join('%')}`;
    fc.assert(
      fc.property(chosen, (pieces) => {
        const plain = pieces.map(([text]) => text).join('');
        const encoded = pieces.map(([text, isEncoded]) => (isEncoded ? encode(text) : text)).join('');
        expect(check(PREFIX + encoded)).toBe(check(PREFIX + plain));
      }),
      { numRuns: scaled(5_000) },
    );
  });

  test('may have any path of unreserved characters', () => {
    const name = fc.stringMatching(/^[\w.~-]{1,12}$/).filter((text) => text !== '.' && text !== '..');
    fc.assert(
      fc.property(fc.array(name), fc.boolean(), (names, slash) => {
        const target = PREFIX + names.join('/') + (slash && names.length > 0 ? '/' : '');
        expect(check(target)).toBe('forward');
      }),
      { numRuns: scaled(5_000) },
    );
  });

  test('may contain a name in any script', () => {
    const letter = fc
      .string({ unit: 'binary', minLength: 1 })
      .map((text) => text.replaceAll(/[^\p{L}\p{N}\p{M}\p{Sc}\p{So}]/gu, ''))
      .filter((text) => text !== '' && !/[./\\;?#%]/.test(text.normalize('NFKD')));
    fc.assert(
      fc.property(letter, (text) => {
        expect(check(`${PREFIX}rooms/${encodeURIComponent(text)}`)).toBe('forward');
      }),
      { numRuns: scaled(1_000) },
    );
  });
});

/** Steps that servers take to normalise a path. Servers differ in the order of the steps, and may repeat a step. */
const STEPS: readonly ((path: string) => string)[] = [
  decodeOnce,
  decodeOnce, // listed twice, because it is the most common step
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replaceAll(/;[^/]*/g, ''),
  (path) => path.replaceAll(/;[^/\\]*/g, ''),
  (path) => path.replace(/[?#].*/s, ''),
  (path) => path.replaceAll(/\/{2,}/g, '/'),
  resolveDots,
  resolveDots,
  (path) => path.normalize('NFKC'),
  (path) => path.replaceAll(/\p{DI}/gu, ''),
  (path) => path.replaceAll(/[. ]+(?=\/|$)/g, (end) => (/^\.{1,2}$/.test(end) ? end : '')),
  (path) => path.replaceAll(/ +(?=\/|$)/g, ''),
  (path) => path.replaceAll('+', ' '),
  (path) => new URL(path, 'http://service.test').pathname,
];

/** Decodes percent-encoding once, like a lenient server. Malformed UTF-8 becomes U+FFFD. */
function decodeOnce(path: string): string {
  return path.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString(),
  );
}

/** Resolves `.` and `..` segments (RFC 3986 §5.2.4). */
function resolveDots(path: string): string {
  const out: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') out.pop();
    else if (segment !== '.') out.push(segment);
  }
  return `/${out.join('/').replace(/^\/+/, '')}`;
}

function expectAllowed(path: string): void {
  const readings = [path.toLowerCase(), path.toUpperCase().toLowerCase(), decodeOnce(path).toLowerCase()];
  const isElsewhere = !path.startsWith(PREFIX);
  const isAuthorization = readings.some((read) => `${read}/`.startsWith(`${AUTHORIZATION}/`));
  // Call `expect` only once, because each call takes longer than all the checks above.
  expect({ path, isElsewhere, isAuthorization }).toEqual({
    path,
    isElsewhere: false,
    isAuthorization: false,
  });
}
