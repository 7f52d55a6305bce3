import { beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { apiRefusal, outcomeOf } from '../support/local-service/expectations.ts';
import { startServiceFixture } from '../support/local-service/fixture.ts';
import { idsOf } from '../support/local-service/requests.ts';

const fixture = useFixture(startServiceFixture);
let room: string;
const service = useFixture(async () => fixture.start());
beforeAll(async () => {
  room = (await service.newTokens()).access_token;
});

describe('401', () => {
  const send = (header: string) => request(service).get(WORKSPACES_PATH).set('authorization', header);

  test('a request without a token learns how to send one', async () => {
    const res = await service.getApi('/workspaces');
    expect(res.status).toBe(401);
    expect(res.body).toEqual({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('Bearer'),
      details: [],
    });
    expect(res.get('www-authenticate')).toBe('Bearer');
  });

  test('an unknown token is not the same error as no token', async () => {
    const res = await send('Bearer never-issued');
    expect(outcomeOf(res)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
    expect(res.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  });

  test('the scheme is not case-sensitive, the token is', async () => {
    expect((await send(`bearer ${room}`)).status).toBe(200);
    const shouted = await send(`Bearer ${room.toUpperCase()}`);
    expect(outcomeOf(shouted)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  });
});

describe('scopes', () => {
  const id = async () => idsOf(await service.readPages('/workspaces', room, 100))[0] ?? '';
  const table: [string, string, number][] = [
    ['room:read', '', 200],
    ['room:read', '/ID', 200],
    ['room:read', '/ID/rooms', 200],
    ['workspace:read', '', 200],
    ['workspace:read', '/ID', 200],
    ['workspace:read', '/ID/rooms', 403],
    ['room:write', '', 403],
  ];
  test.each(table)('%s on /workspaces%s is %i', async (scope, path, status) => {
    const { access_token } = await service.newTokens(scope);
    const res = await service.getApi(`/workspaces${path.replace('ID', await id())}`, access_token);
    expect({ status: res.status, code: (res.body as { code?: string }).code }).toEqual({
      status,
      code: status === 403 ? 'INVALID_SCOPE' : undefined,
    });
  });

  test('the public service’s plural names open the same', async () => {
    const plural = await fixture.start({ scopes: ['workspaces:read', 'rooms:read', 'murals:read'] });
    const { access_token } = await plural.newTokens('workspaces:read rooms:read murals:read');
    for (const path of ['', '/ID', '/ID/rooms', '/ID/murals']) {
      const res = await plural.getApi(`/workspaces${path.replace('ID', await id())}`, access_token);
      expect(res.status).toBe(200);
    }
  });
});

describe('what is not there', () => {
  test.each(['', '/rooms', '/murals'])('a workspace of someone else: /workspaces/{id}%s', async (rest) => {
    const guest = (await service.newTokens(undefined, 'guest')).access_token;
    const [id] = idsOf(await service.readPages('/workspaces', guest));
    expect((await service.getApi(`/workspaces/${id}${rest}`, guest)).status).toBe(200);
    expect((await service.getApi(`/workspaces/${id}${rest}`, room)).status).toBe(404);
  });

  test.each(['', '/users/me', '/workspaces/a/rooms/b'])('no such path: "%s"', async (path) => {
    const res = await service.getApi(path, room);
    expect(outcomeOf(res)).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  });

  test('a list takes no POST', async () => {
    const res = await request(service).post(WORKSPACES_PATH);
    expect(outcomeOf(res)).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
    expect(res.get('allow')).toBe('GET, HEAD');
  });

  test('HEAD answers as GET does, without a body', async () => {
    const res = await request(service).head(WORKSPACES_PATH).set('authorization', `Bearer ${room}`);
    expect(res.status).toBe(200);
    expect(res.get('content-type')).toMatch(/^application\/json/);
  });
});
