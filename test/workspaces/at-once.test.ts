import { expect, test } from '@jest/globals';
import { createDeferred } from '../../src/platform/deferred.ts';
import { createAtOnce } from '../../src/workspaces/at-once.ts';
import { createSessionWalks } from '../../src/workspaces/session-walks.ts';
import type { ServicePage } from '../../src/workspaces/service-pages.ts';

test('A session has so many under way as are allowed, and again as many when it has left', () => {
  const enter = createAtOnce(2);
  const [first, second] = [enter('a'), enter('a')];
  expect(enter('a')).toBeNull();
  expect(enter('b')).not.toBeNull();
  first?.();
  expect(enter('a')).not.toBeNull();
  expect(enter('a')).toBeNull();
  second?.();
  expect(enter('a')).not.toBeNull();
});

test('The seventeenth page of a session at once is a 429, until one of the others is there or has failed', async () => {
  const answers: ReturnType<typeof createDeferred<ServicePage>>[] = [];
  const walkList = createSessionWalks({
    readList: () => async () => {
      const answer = createDeferred<ServicePage>();
      answers.push(answer);
      return answer.promise;
    },
    sessions: { read: () => Promise.resolve(null) },
    pageTokens: {
      nearest: () => Promise.resolve(null),
      remember: () => Promise.resolve(),
      forget: () => Promise.resolve(),
    },
    mostAtOnce: 16,
    now: Date.now,
  });
  const walk = async (id: string) => {
    const record = { grant: { accessToken: '', expiresAt: 0, lifetimeMs: 0, scopes: [] }, createdAt: 0 };
    const { signal } = new AbortController();
    const source = { ticket: { id, sealed: '', record }, path: '/', limit: 1, requestId: '', signal };
    return walkList(source, { from: 1, begin: () => () => true });
  };
  const walks = Array.from({ length: 16 }, async () => walk('a'));
  await expect(walk('a')).rejects.toMatchObject({
    status: 429,
    code: 'too_many_pages',
    headers: { 'retry-after': '2' },
  });
  const others = walk('b');
  await Promise.resolve();
  answers[0]?.resolve({ items: [], text: '' });
  answers[1]?.reject(new Error('the service is away'));
  await walks[0];
  await expect(walks[1]).rejects.toThrow('the service is away');
  walks.push(walk('a'), walk('a'));
  await expect(walk('a')).rejects.toMatchObject({ status: 429 });
  for (const answer of answers) answer.resolve({ items: [], text: '' });
  await Promise.allSettled([others, ...walks.slice(0, 16)]);
});
