import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { passesCrossSiteCheck } from '../../../src/http/cross-site.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { sendRaw } from '../../support/raw.ts';
import { useTestApp } from '../../support/fixtures.ts';

/**
 * Contract, section 4, cell by cell: the site by `Sec-Fetch-Site`, the origin by `Origin`, and the result
 * with GET and HEAD, with OPTIONS, and with an unsafe method without and with `X-Requested-With`.
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

/** Each value and what it stands for in the table. Of two fields Node makes one, with a comma. */
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

describe('the cross-site rule', () => {
  const rows = RULE.trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const [columns = [], ...cells] = rows;

  const table = SITES.flatMap((site) => ORIGINS.map((origin) => [site, origin] as const));
  test.each(table)('with Sec-Fetch-Site %j and Origin %j', ([site, siteRow], [origin, originRow]) => {
    const row = cells.find(([first, second]) => first === siteRow && second === originRow);
    for (const [method, kind] of METHODS) {
      for (const requestedWith of REQUESTED_WITH) {
        const column = kind === 'unsafe' && requestedWith !== undefined ? 'unsafe+XRW' : kind;
        const headers: IncomingHttpHeaders = {
          ...(site !== undefined && { 'sec-fetch-site': site }),
          ...(origin !== undefined && { origin }),
          ...(requestedWith !== undefined && { 'x-requested-with': requestedWith }),
        };
        const verdict = passesCrossSiteCheck(method, headers, OURS) ? 'pass' : 'refuse';
        expect([method, requestedWith, verdict]).toEqual([
          method,
          requestedWith,
          row?.[columns.indexOf(column)],
        ]);
      }
    }
  });
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

  const fromOurs: [who: string, method: string, fields: string[]][] = [
    ['a page of ours', 'GET', ['Sec-Fetch-Site: same-origin']],
    ['an address typed in', 'GET', ['Sec-Fetch-Site: none']],
    ['our own fetch', 'POST', ['Sec-Fetch-Site: same-origin', 'Origin: ours']],
    ['our own fetch by an odd method', 'PROPFIND', ['sec-fetch-site: same-origin', 'ORIGIN: ours']],
    ['an old browser on our page', 'POST', ['Origin: ours']],
    ['a script', 'GET', []],
    ['a script that sends OPTIONS', 'OPTIONS', []],
    ['a script that says it is one', 'DELETE', ['X-Requested-With: x']],
    ['a script that says so in no words', 'PATCH', ['X-Requested-With:']],
  ];
  test.each(fromOurs)('from %s: %s with %j', async (_who, method, fields) => {
    const sent = fields.map((field) => field.replace(/\bours$/, testApp.origin));
    expect(await send(`${method} ${PATH}`, [`Cookie: ${cookie}`, ...sent])).toMatch(/^HTTP\/1\.1 200 /);
    expect(testApp.serviceRequests.map((call) => call.method)).toEqual([method]);
  });

  const fromOthers: [who: string, method: string, fields: string[]][] = [
    ['a form of another site', 'POST', ['Sec-Fetch-Site: cross-site', 'Origin: http://x.test']],
    ['a page of another site', 'GET', ['Sec-Fetch-Site: cross-site']],
    ['a page of a sister site', 'GET', ['Sec-Fetch-Site: same-site']],
    ['a preflight', 'OPTIONS', ['Origin: http://x.test', 'Access-Control-Request-Method: PUT']],
    ['nowhere, with POST', 'POST', ['Sec-Fetch-Site: none', 'X-Requested-With: x']],
    ['nowhere, with OPTIONS', 'OPTIONS', ['Sec-Fetch-Site: none']],
    ['an empty place', 'GET', ['Sec-Fetch-Site:']],
    ['two places', 'GET', ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: same-origin']],
    ['two places, one of them ours', 'POST', ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-origin']],
    ['another origin that claims ours', 'GET', ['Sec-Fetch-Site: same-origin', 'Origin: http://x.test']],
    ['a hidden origin', 'POST', ['Origin: null']],
    ['two origins', 'POST', ['Origin: ours', 'Origin: ours']],
    ['two origins, one of them ours', 'POST', ['Origin: ours', 'Origin: http://x.test']],
    ['an empty origin', 'GET', ['Origin:']],
    ['our origin with a slash', 'POST', ['Origin: ours/']],
    ['a script that changes something', 'DELETE', []],
    ['a script that uses an odd method', 'PROPFIND', []],
    ['a script that hides its header', 'POST', ['X_Requested_With: x']],
    ['a liar', 'POST', ['X-Requested-With: x', 'Origin: http://x.test']],
  ];
  test.each(fromOthers)('is refused from %s: %s with %j', async (_who, method, fields) => {
    const sent = fields.map((field) => field.replace(/\bours\b/, testApp.origin));
    expect(await send(`${method} ${PATH}`, [`Cookie: ${cookie}`, ...sent])).toMatch(CROSS_SITE);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('is refused before its session is looked at', async () => {
    expect(await send(`GET ${PATH}`, ['Sec-Fetch-Site: cross-site'])).toMatch(CROSS_SITE);
    expect(await send(`GET ${PATH}`, ['Sec-Fetch-Site: cross-site', 'Cookie: cloakroom=x'])).toMatch(
      CROSS_SITE,
    );
  });

  test('is refused for its target before that', async () => {
    expect(await send(`GET ${PATH}/../x`, ['Sec-Fetch-Site: cross-site'])).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*"bad_request_target"/,
    );
    expect(await send('GET /api/other', ['Sec-Fetch-Site: cross-site'])).toMatch(
      /^HTTP\/1\.1 404 [\s\S]*"path_not_allowed"/,
    );
  });
});
