import { describe, expect, test } from '@jest/globals';
import { toStandardResponse } from '../../../src/oauth/service-quirks.ts';

async function rewritten(status: number, body: unknown): Promise<{ status: number; body: unknown }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = toStandardResponse({ status, text });
  return { status: response.status, body: await response.json() };
}

describe('a token response', () => {
  test('without token_type and expires_in is treated as a bearer token that expires in 900 s', async () => {
    expect(await rewritten(200, { access_token: 'a' })).toEqual({
      status: 200,
      body: { access_token: 'a', token_type: 'bearer', expires_in: 900 },
    });
  });

  test('is stripped of all non-standard members', async () => {
    const body = { access_token: 'a', token_type: 'Bearer', expires_in: 5, refresh_token: 'r', scope: 's' };
    expect(await rewritten(200, { ...body, id_token: 'x', extra: 1 })).toEqual({ status: 200, body });
  });

  test('with an empty scope is treated like a response without a scope', async () => {
    const body = { access_token: 'a', token_type: 'Bearer', expires_in: 5 };
    expect(await rewritten(200, { ...body, scope: '' })).toEqual({ status: 200, body });
  });

  test.each([0, -1, '', 'soon', null, Number.NaN, [900]])(
    'with an expires_in of %j is treated like a response without expires_in',
    async (expiresIn) => {
      const { body } = await rewritten(200, { access_token: 'a', expires_in: expiresIn });
      expect(body).toMatchObject({ expires_in: 900 });
    },
  );

  test('may contain expires_in as a string', async () => {
    const { body } = await rewritten(200, { access_token: 'a', expires_in: '60' });
    expect(body).toMatchObject({ expires_in: 60 });
  });

  test.each([
    ['an empty error', { error: '' }],
    ['an empty token_type', { token_type: '' }],
    ['a scope that is not a string', { scope: ['room:read'] }],
  ])('with %s and a token is treated as if only the token were present', async (_what, odd) => {
    expect(await rewritten(200, { access_token: 'a', ...odd })).toEqual({
      status: 200,
      body: { access_token: 'a', token_type: 'bearer', expires_in: 900 },
    });
  });

  test('may have any 2xx status', async () => {
    const { status, body } = await rewritten(201, { access_token: 'a' });
    expect([status, body]).toMatchObject([200, { access_token: 'a' }]);
  });

  test.each([200, 400, 401, 403, 500, 503, 999])(
    'with an error string and status %i becomes that OAuth error',
    async (status) => {
      const body = { error: 'invalid_grant', error_description: 'no' };
      expect(await rewritten(status, { ...body, access_token: 'a' })).toEqual({ status: 400, body });
    },
  );

  test.each([
    [500, {}],
    [502, '<html>'],
    [503, 'null'],
    [404, { code: 'NOT_FOUND' }],
    [302, ''],
    [200, 'junk'],
    [200, '[]'],
    [200, 'null'],
  ])('with status %i and body %j causes an error that omits the body', (status, body) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(() => toStandardResponse({ status, text })).toThrow(
      /^the token endpoint responded with (?:status \d+|no JSON object)$/,
    );
  });
});
