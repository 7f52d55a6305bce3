import { beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp();
let cookie: string;

beforeAll(async () => {
  testApp.intercept = (req, res) => {
    if (!/\/workspaces/.test(req.url ?? '')) return false;
    res.setHeader('content-type', 'application/json').end('{"value":[]}');
    return true;
  };
  ({ cookie } = await testApp.createSession());
});

async function statusOf(path: string, site?: string, mode?: string, dest?: string): Promise<number> {
  const fields = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
  const sent = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const { status } = await request(testApp.origin)
    .get(path)
    .set({ cookie, ...sent });
  return status;
}

const PAGES = [
  '/workspaces',
  '/workspaces?find=x',
  '/workspaces.csv',
  '/workspaces/w1/rooms.ndjson',
  '/console',
];

test.each(PAGES)('another site may link to %s but not embed it', async (path) => {
  testApp.serviceRequests.length = 0;
  for (const site of ['cross-site', 'same-site']) {
    expect(await statusOf(path, site, 'no-cors', 'image')).toBe(403);
    expect(await statusOf(path, site, 'navigate', 'iframe')).toBe(403);
    expect(await statusOf(path, site, 'cors', 'empty')).toBe(403);
    expect(await statusOf(path, site)).toBe(403);
  }
  expect(testApp.serviceRequests).toEqual([]);
  expect(await statusOf(path, 'cross-site', 'navigate', 'document')).toBe(200);
});

test.each(PAGES)(
  '%s can be opened from Cloakroom pages, from a typed address and by clients without Fetch Metadata',
  async (path) => {
    expect(await statusOf(path, 'same-origin', 'cors', 'empty')).toBe(200);
    expect(await statusOf(path, 'none', 'navigate', 'document')).toBe(200);
    expect(await statusOf(path)).toBe(200);
  },
);
