import { expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import {
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
} from '../../support/local-service/cookie-browser.ts';
import { apiRefusal, outcomeOf } from '../../support/local-service/expectations.ts';
import { useLocalService, type LocalService } from '../../support/local-service/fixture.ts';
import {
  idsOf,
  originOf,
  refreshFields,
  tokensOf,
  type ListPage,
} from '../../support/local-service/requests.ts';

const MINUTE = 60_000;

const { fixture, service } = useLocalService();

const listWith = async (accessToken: string) => outcomeOf(await service.getApi('/workspaces', accessToken));
const EXPIRED = apiRefusal(401, 'TOKEN_EXPIRED');

/** Checks that new tokens from this service expire after exactly this many seconds. */
async function expectLifetime(server: LocalService, seconds: number): Promise<void> {
  const { access_token, expires_in } = await server.newTokens();
  expect(expires_in).toBe(seconds);
  fixture.clock.time += seconds * 1_000 - 1;
  expect(await listWith(access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += 1;
  expect(await listWith(access_token)).toEqual(EXPIRED);
}

test('3 expiry: the lifetime of each access token starts when it is issued', async () => {
  const first = await service.newTokens();
  fixture.clock.time += 8 * MINUTE;
  const second = tokensOf(await service.refresh(first.refresh_token));
  fixture.clock.time += 7 * MINUTE;
  expect(await listWith(first.access_token)).toEqual(EXPIRED);
  expect(await listWith(second.access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += 8 * MINUTE;
  expect(await listWith(second.access_token)).toEqual(EXPIRED);
});

test('4 base_url: every path is relative to the host', async () => {
  for (const server of [service, await fixture.start()]) {
    const { access_token } = await server.newTokens();
    expect((await server.getApi('/workspaces', access_token)).status).toBe(200);
    const [browser, url] = [openBrowser(server), authorizationUrl()];
    const res = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
    expect(new URL(locationOf(res), originOf(server)).href).toBe(originOf(server) + url);
  }
});

test('5 rule 6: the default lifetime is 15 minutes; `expires_in` gives it in seconds', async () => {
  await expectLifetime(service, 15 * 60);
  for (const accessTokenSeconds of [1, 3_600]) {
    await expectLifetime(await fixture.start({ accessTokenSeconds }), accessTokenSeconds);
  }
});

test('8 default access token lifetime: 15 minutes', async () => {
  await expectLifetime(service, 900);
});

test('8 default page size: defined for each resource type, at most 100', async () => {
  const { access_token } = await service.newTokens();
  const pageSizeOf = async (path: string) =>
    ((await service.getApi(path, access_token)).body as ListPage).value.length;
  expect(await pageSizeOf('/workspaces')).toBe(25);
  const ids = idsOf(await service.readPages('/workspaces', access_token));
  for (const kind of ['rooms', 'murals']) {
    const sizes = await Promise.all(ids.map(async (id) => pageSizeOf(`/workspaces/${id}/${kind}`)));
    expect(Math.max(...sizes)).toBe(50); // some lists are longer
  }
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

test('8 refresh token reuse: the number of uses is not limited', async () => {
  const { refresh_token } = await service.newTokens();
  const given = new Set<string>();
  for (let use = 1; use <= 100; use += 1) {
    given.add(tokensOf(await service.refresh(refresh_token)).access_token);
  }
  expect(given.size).toBe(100);
  for (const accessToken of given) expect(await listWith(accessToken)).toMatchObject({ status: 200 });
});

test('9 version: every path is under `/api/public/v1/`, and no other version exists', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  const V1 = '/api/public/v1';
  const statusesUnder = async (prefix: string) => {
    const authorization = await request(service).get(authorizationUrl().replace(V1, prefix));
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
  const others = ['', '/api', '/api/v1', '/api/public', '/api/public/v2', '/api/public/V1', `/x${V1}`];
  for (const prefix of others) expect(await statusesUnder(prefix)).toEqual([404, 404, 404]);
});
