import { expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import {
  AUTHORIZATION,
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
} from '../../support/local-service/cookie-browser.ts';
import { apiRefusal, outcomeOf } from '../../support/local-service/expectations.ts';
import { startServiceFixture } from '../../support/local-service/fixture.ts';
import {
  idsOf,
  originOf,
  refreshFields,
  tokensOf,
  type ListPage,
} from '../../support/local-service/requests.ts';

const fixture = useFixture(startServiceFixture);
const QUARTER = 900_000;

const service = useFixture(async () => fixture.start());

const callWith = async (accessToken: string) => outcomeOf(await service.getApi('/workspaces', accessToken));
const refresh = async (token: string) => tokensOf(await service.refresh(token));

test('3 expiry: each access token expires by its own time of issue', async () => {
  const first = await service.newTokens();
  fixture.clock.time += QUARTER / 2;
  const second = await refresh(first.refresh_token);
  fixture.clock.time += QUARTER / 2;
  expect(await callWith(first.access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
  expect(await callWith(second.access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += QUARTER / 2;
  expect(await callWith(second.access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
});

test('4 base_url: every path is relative to the host, whichever it is', async () => {
  for (const server of [service, await fixture.start()]) {
    const { access_token } = await server.newTokens();
    expect((await server.getApi('/workspaces', access_token)).status).toBe(200);
    const [browser, url] = [openBrowser(server), authorizationUrl()];
    const res = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
    expect(new URL(locationOf(res), originOf(server)).href).toBe(originOf(server) + url);
  }
});

test('5 rule 6: the default lifetime is 15 minutes; `expires_in` tells the lifetime in seconds', async () => {
  for (const accessTokenSeconds of [undefined, 1, 3_600]) {
    const server = await fixture.start(accessTokenSeconds === undefined ? {} : { accessTokenSeconds });
    const { access_token, expires_in } = await server.newTokens();
    expect(expires_in).toBe(accessTokenSeconds ?? 15 * 60);
    fixture.clock.time += expires_in * 1_000 - 1;
    expect(await callWith(access_token)).toMatchObject({ status: 200 });
    fixture.clock.time += 1;
    expect(await callWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
  }
});

test('8 default access token lifetime: 15 minutes', async () => {
  const { access_token, expires_in } = await service.newTokens();
  expect(expires_in).toBe(900);
  fixture.clock.time += QUARTER - 1;
  expect(await callWith(access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += 1;
  expect(await callWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
});

test('8 default page size: one for each resource type, 100 or fewer', async () => {
  const { access_token } = await service.newTokens();
  const workspaces = await service.readPages('/workspaces', access_token);
  const firstPages: Record<string, ListPage> = { workspaces: workspaces[0] ?? { value: [] } };
  for (const id of idsOf(workspaces)) {
    for (const kind of ['rooms', 'murals']) {
      const page = (await service.getApi(`/workspaces/${id}/${kind}`, access_token)).body as ListPage;
      // Only a page that isn't the last tells the size.
      if (page.next !== undefined) firstPages[kind] = page;
    }
    if (Object.keys(firstPages).length === 3) break;
  }
  const sizes = Object.entries(firstPages).map(([kind, { value }]) => [kind, value.length]);
  expect(Object.fromEntries(sizes)).toEqual({ workspaces: 25, rooms: 50, murals: 50 });
});

test('8 page size parameter: `limit`, in the query', async () => {
  const { access_token } = await service.newTokens();
  const count = async (query: string) =>
    ((await service.getApi(`/workspaces${query}`, access_token)).body as ListPage).value.length;
  for (const name of ['Limit', 'page_size', 'per_page', 'count']) expect(await count(`?${name}=3`)).toBe(25);
  const elsewhere = await service.getApi('/workspaces', access_token).set('limit', '3');
  expect((elsewhere.body as ListPage).value).toHaveLength(25);
  expect(await count('?limit=3')).toBe(3);
});

test('8 refresh token reuse: no cap on the number of uses', async () => {
  const { refresh_token } = await service.newTokens();
  const given = new Set<string>();
  for (let use = 1; use <= 100; use += 1) given.add((await refresh(refresh_token)).access_token);
  expect(given.size).toBe(100);
  for (const accessToken of given) expect(await callWith(accessToken)).toMatchObject({ status: 200 });
});

test('9 version: everything is under `/api/public/v1/`, and under no other version', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  const V1 = '/api/public/v1';
  const statusesUnder = async (prefix: string) => {
    const { search } = new URL(authorizationUrl(), 'http://localhost');
    const authorization = await request(service).get(AUTHORIZATION.replace(V1, prefix) + search);
    const token = await request(service)
      .post(TOKEN_PATH.replace(V1, prefix))
      .type('form')
      .send(refreshFields(refresh_token));
    const list = await request(service)
      .get(`${prefix}/workspaces`)
      .set('authorization', `Bearer ${access_token}`);
    return [authorization, token, list].map(({ status }) => status);
  };
  expect(await statusesUnder(V1)).toEqual([200, 200, 200]);
  for (const prefix of [
    '',
    '/api',
    '/api/v1',
    '/api/public',
    '/api/public/v2',
    '/api/public/V1',
    `/x${V1}`,
  ]) {
    expect(await statusesUnder(prefix)).toEqual([404, 404, 404]);
  }
});
