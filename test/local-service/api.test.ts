import { beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { apiRefusal, outcomeOf } from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { idsOf } from '../support/local-service/requests.ts';

const { fixture, service } = useLocalService();
const allScopes = useFixture(async () =>
  fixture.start({
    scopes: ['room:read', 'room:write', 'workspace:read', 'workspaces:read', 'rooms:read', 'murals:read'],
  }),
);
let token: string;
beforeAll(async () => {
  token = (await service.newTokens()).access_token;
});

describe('an access token', () => {
  test('an access token is case-sensitive, but its scheme is not', async () => {
    await request(service).get(WORKSPACES_PATH).set('authorization', `bearer ${token}`).expect(200);
    const upperCase = await service.getApi('/workspaces', token.toUpperCase());
    expect(outcomeOf(upperCase)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  });

  const PLURAL = 'workspaces:read rooms:read murals:read';
  test.each([
    ['room:read', '/ID'],
    ['workspace:read', '/ID'],
    // The public service uses these plural names.
    [PLURAL, ''],
    [PLURAL, '/ID'],
    [PLURAL, '/ID/rooms'],
    [PLURAL, '/ID/murals'],
  ])('an access token with the scopes %s can read /workspaces%s', async (scope, path) => {
    const [id = ''] = idsOf(await service.readPages('/workspaces', token, 100));
    const { access_token } = await allScopes.newTokens(scope);
    await allScopes.getApi(`/workspaces${path.replace('ID', id)}`, access_token).expect(200);
  });
});

describe('a path', () => {
  test.each(['', '/rooms', '/murals'])(
    'a request for another user’s workspace gets a 404: /workspaces/{id}%s',
    async (rest) => {
      const guest = (await service.newTokens(undefined, 'guest')).access_token;
      const [id] = idsOf(await service.readPages('/workspaces', guest));
      expect((await service.getApi(`/workspaces/${id}${rest}`, guest)).status).toBe(200);
      expect((await service.getApi(`/workspaces/${id}${rest}`, token)).status).toBe(404);
    },
  );

  test('a HEAD request is handled like GET, but gets no body', async () => {
    const res = await request(service).head(WORKSPACES_PATH).set('authorization', `Bearer ${token}`);
    expect(res.status).toBe(200);
    expect(res.get('content-type')).toMatch(/^application\/json/);
  });
});
