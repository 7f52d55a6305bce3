import { beforeAll, expect, test } from '@jest/globals';
import { useFixture } from '../support/fixtures.ts';
import { forAll } from '../support/local-service/altered.ts';
import { expectApiError, expectTokenError } from '../support/local-service/expectations.ts';
import { startServiceFixture, type LocalService } from '../support/local-service/fixture.ts';
import type { TokenResponse } from '../support/local-service/requests.ts';
import { fc } from '../support/properties.ts';

const fixture = useFixture(startServiceFixture);
let processes: readonly LocalService[];
beforeAll(async () => {
  processes = [await fixture.start({ rotateRefresh: true }), await fixture.start({ rotateRefresh: true })];
});

/** Generates one use of a refresh token: the process, and the position of the token counted back from the newest. */
const USE = fc.record({ at: fc.nat(1), back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(4)) });
type Use = typeof USE extends fc.Arbitrary<infer T> ? T : never;

/** Generates the actions of several concurrent parts of an app. Each part runs its actions one after another. */
const PARTS = fc.array(fc.array(USE, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 6 });

const serverAt = (at: number) => processes[at] as LocalService;

/** All tokens issued from one code. The first token response is from the code exchange. */
interface Family {
  readonly code: string;
  readonly issued: TokenResponse[];
  /** Refresh tokens that have already been replaced. */
  readonly replaced: Set<string>;
}

async function newFamily(): Promise<Family> {
  await fixture.redis.flushall();
  const code = await serverAt(0).newCode();
  const response = await serverAt(0).exchange(code);
  return { code, issued: [response.body as TokenResponse], replaced: new Set() };
}

/** Sends a refresh request. Checks that no token works twice and that a refused token gets `invalid_grant`. */
async function refresh({ issued, replaced }: Family, { at, back }: Use): Promise<void> {
  const { refresh_token: token } = issued.at(-1 - Math.min(back, issued.length - 1)) as TokenResponse;
  const wasReplaced = replaced.has(token);
  const response = await serverAt(at).refresh(token);
  if (response.status !== 200) {
    expectTokenError(response, ['invalid_grant']);
    return;
  }
  expect(wasReplaced || replaced.has(token)).toBe(false);
  replaced.add(token);
  issued.push(response.body as TokenResponse);
}

async function playAll(family: Family, parts: readonly (readonly Use[])[]): Promise<void> {
  await Promise.all(
    parts.map(async (uses) => {
      for (const use of uses) await refresh(family, use);
    }),
  );
}

/** Polls Redis until `playing` settles. Resolves with the maximum number of refresh tokens that were valid at the same time. */
async function countAlive(playing: Promise<void>): Promise<number> {
  const over = new AbortController();
  const played = playing.finally(() => over.abort());
  let most = 0;
  while (!over.signal.aborted) {
    most = Math.max(most, (await fixture.redis.keys('local-service:refresh:*')).length);
  }
  await played;
  return most;
}

test('with rotation, only one refresh token is valid at a time, whatever the order of refreshes across two processes', async () => {
  await forAll(20, PARTS, async (parts) => {
    const family = await newFamily();
    expect(await countAlive(playAll(family, parts))).toBe(1);
    expect(family.issued).toHaveLength(family.replaced.size + 1);
    for (const { refresh_token } of family.issued.slice(0, -1)) {
      expectTokenError(await serverAt(1).refresh(refresh_token), ['invalid_grant']);
    }
    const newest = family.issued.at(-1) as TokenResponse;
    expect((await serverAt(0).getApi('/workspaces', newest.access_token)).status).toBe(200);
    expect((await serverAt(0).refresh(newest.refresh_token)).status).toBe(200);
  });
});

test('a code replayed during refreshes revokes all tokens issued from it', async () => {
  await forAll(20, fc.tuple(PARTS, fc.array(USE, { maxLength: 3 })), async ([parts, before]) => {
    const family = await newFamily();
    const replay = async () => {
      await playAll(family, [before]);
      expectTokenError(await serverAt(1).exchange(family.code), ['invalid_grant']);
    };
    await Promise.all([playAll(family, parts), replay()]);
    for (const { access_token, refresh_token } of family.issued) {
      expectApiError(await serverAt(0).getApi('/workspaces', access_token), 401, 'TOKEN_REVOKED');
      expectTokenError(await serverAt(1).refresh(refresh_token), ['invalid_grant']);
    }
  });
});
