import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { passesCrossSiteCheck } from '../../../src/http/cross-site.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { sendRaw } from '../../support/raw-client.ts';
import { useTestApp } from '../../support/fixtures.ts';

/**
 * The cross-site rule from docs/api.md for each combination of `Sec-Fetch-Site` and `Origin`. `unsafe` stands for any method other
 * than GET, HEAD and OPTIONS. `+XRW` stands for a request with `X-Requested-With`.
 */
const RULE = `
  site     origin   GET/HEAD  OPTIONS  unsafe  unsafe+XRW
  absent   absent   pass      pass     refuse  pass
  absent   ours     pass      pass     pass    pass
  absent   other    refuse    refuse   refuse  refuse
  same     absent   pass      pass     pass    pass
  same     ours     pass      pass     pass    pass
  same     other    refuse    refuse   refuse  refuse
  typed    absent   pass      refuse   refuse  refuse
  typed    ours     pass      refuse   refuse  refuse
  typed    other    refuse    refuse   refuse  refuse
  other    absent   refuse    refuse   refuse  refuse
  other    ours     refuse    refuse   refuse  refuse
  other    other    refuse    refuse   refuse  refuse
`;

const OURS = 'http://localhost:3000';

/** Each header value, with the name that the table uses for it. Node joins the values of a repeated field with a comma. */
const SITES: [value: string | undefined, site: string][] = [
  [undefined, 'absent'],
  ['same-origin', 'same'],
  ['none', 'typed'],
  ['same-site', 'other'],
  ['cross-site', 'other'],
  ['', 'other'],
  ['odd', 'other'],
  ['Same-Origin', 'other'],
  ['same-origin, same-origin', 'other'],
  ['none, none', 'other'],
  ['same-origin, cross-site', 'other'],
];
const ORIGINS: [value: string | undefined, origin: string][] = [
  [undefined, 'absent'],
  [OURS, 'ours'],
  ['http://other.test', 'other'],
  ['null', 'other'],
  ['', 'other'],
  ['HTTP://localhost:3000', 'other'],
  ['http://LOCALHOST:3000', 'other'],
  ['https://localhost:3000', 'other'],
  ['http://localhost', 'other'],
  ['http://localhost:3001', 'other'],
  ['http://localhost:30000', 'other'],
  ['http://localhost:3000/', 'other'],
  ['http://localhost:3000.other.test', 'other'],
  ['http://other.test#http://localhost:3000', 'other'],
  [`${OURS}, ${OURS}`, 'other'],
  [`${OURS}, http://other.test`, 'other'],
  [`${OURS} http://other.test`, 'other'],
];
const METHODS: [method: string, column: string][] = [
  ['GET', 'GET/HEAD'],
  ['HEAD', 'GET/HEAD'],
  ['OPTIONS', 'OPTIONS'],
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'MKCOL', 'PURGE', 'QUERY', 'get'].map(
    (method): [string, string] => [method, 'unsafe'],
  ),
];
const REQUESTED_WITH = [undefined, '', 'fetch'];

describe('the cross-site check', () => {
  const rows = RULE.trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const [columns = [], ...cells] = rows;

  const table = SITES.flatMap((site) => ORIGINS.map((origin) => [site, origin] as const));
  test.each(table)(
    'follows the documented rule for Sec-Fetch-Site %j and Origin %j',
    ([site, siteRow], [origin, originRow]) => {
      const row = cells.find(([first, second]) => first === siteRow && second === originRow);
      for (const [method, kind] of METHODS) {
        for (const requestedWith of REQUESTED_WITH) {
          const column = kind === 'unsafe' && requestedWith !== undefined ? 'unsafe+XRW' : kind;
          const headers: IncomingHttpHeaders = {
            ...(site !== undefined && { 'sec-fetch-site': site }),
            ...(origin !== undefined && { origin }),
            ...(requestedWith !== undefined && { 'x-requested-with': requestedWith }),
          };
          const result = passesCrossSiteCheck(method, headers, OURS) ? 'pass' : 'refuse';
          expect({ method, requestedWith, result }).toMatchObject({ result: row?.[columns.indexOf(column)] });
        }
      }
    },
  );
});

describe('an API request', () => {
  const testApp = useTestApp();
  let cookie: string;

  beforeEach(async () => {
    testApp.serviceRequests.length = 0;
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    ({ cookie } = await testApp.createSession());
  });

  const send = async (line: string, fields: readonly string[]) =>
    sendRaw(testApp, [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...fields, '', ''].join('\r\n'));
  const CROSS_SITE = /^HTTP\/1\.1 403 [\s\S]*"code":"cross_site_request"/;

  // These rows cover typical browser requests and unusual spellings. RULE covers all combinations of field values.
  test.each<[client: string, method: string, fields: string[]]>([
    ['one of our pages', 'GET', ['Sec-Fetch-Site: same-origin']],
    ['the address bar', 'GET', ['Sec-Fetch-Site: none']],
    ['an unusual method from one of our pages', 'PROPFIND', ['sec-fetch-site: same-origin', 'ORIGIN: ours']],
    ['one of our pages in an old browser', 'POST', ['Origin: ours']],
    ['a script', 'DELETE', ['X-Requested-With: x']],
    ['a script with an empty X-Requested-With', 'PATCH', ['X-Requested-With:']],
  ])('passes the cross-site check (%s): %s with %j', async (_client, method, fields) => {
    const sent = fields.map((field) => field.replace(/\bours$/, testApp.origin));
    expect(await send(`${method} ${PATH}`, [`Cookie: ${cookie}`, ...sent])).toMatch(/^HTTP\/1\.1 200 /);
    expect(testApp.serviceRequests.map((request) => request.method)).toEqual([method]);
  });

  test.each<[client: string, method: string, fields: string[]]>([
    ['a form on another site', 'POST', ['Sec-Fetch-Site: cross-site', 'Origin: http://x.test']],
    ['a preflight', 'OPTIONS', ['Origin: http://x.test', 'Access-Control-Request-Method: PUT']],
    ['an empty Sec-Fetch-Site', 'GET', ['Sec-Fetch-Site:']],
    ['two Sec-Fetch-Site fields', 'GET', ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: same-origin']],
    [
      'two Sec-Fetch-Site fields, one of them same-origin',
      'POST',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-origin'],
    ],
    ['an opaque origin', 'POST', ['Origin: null']],
    ['an empty origin', 'GET', ['Origin:']],
    ['two origins', 'POST', ['Origin: ours', 'Origin: ours']],
    ['two origins, one of them ours', 'POST', ['Origin: ours', 'Origin: http://x.test']],
    ['a script without X-Requested-With', 'DELETE', []],
    ['a script with X_Requested_With', 'POST', ['X_Requested_With: x']],
    ['a script from another origin', 'POST', ['X-Requested-With: x', 'Origin: http://x.test']],
  ])('fails the cross-site check (%s): %s with %j', async (_client, method, fields) => {
    const sent = fields.map((field) => field.replace(/\bours\b/, testApp.origin));
    expect(await send(`${method} ${PATH}`, [`Cookie: ${cookie}`, ...sent])).toMatch(CROSS_SITE);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('is refused before the gateway reads its session', async () => {
    expect(await send(`GET ${PATH}`, ['Sec-Fetch-Site: cross-site'])).toMatch(CROSS_SITE);
    const fields = ['Sec-Fetch-Site: cross-site', 'Cookie: cloakroom=x'];
    expect(await send(`GET ${PATH}`, fields)).toMatch(CROSS_SITE);
  });

  test.each([
    [`${PATH}/../x`, /^HTTP\/1\.1 400 [\s\S]*"bad_request_target"/],
    ['/api/other', /^HTTP\/1\.1 404 [\s\S]*"path_not_allowed"/],
  ])('is refused for its target before the cross-site check: %s', async (target, refusal) => {
    expect(await send(`GET ${target}`, ['Sec-Fetch-Site: cross-site'])).toMatch(refusal);
  });
});
