import { expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../src/redis/client.ts';
import { createPendingWrites } from '../../../../src/oauth/refresh/pending-writes.ts';
import { createLog } from '../../../../src/observability/logger.ts';
import type { Session } from '../../../../src/session/record.ts';
import type { SessionStore } from '../../../../src/session/store.ts';

/** Returns a session with this access token. */
const sessionWith = (accessToken: string): Session => {
  const grant = { accessToken, expiresAt: 0, lifetimeMs: 0, scopes: [] };
  return { id: 'an-id', encrypted: accessToken, record: { grant, createdAt: 0 } };
};

test('a completed write does not affect the pending write from a later refresh', async () => {
  let stored = sessionWith('first');
  let isDown = true;
  const replace: SessionStore['replace'] = async (before, record) => {
    if (isDown) throw new StoreUnavailableError(new Error('Redis is down'));
    if (before.encrypted !== stored.encrypted) return null;
    return (stored = sessionWith(record.grant.accessToken));
  };
  const peek: SessionStore['peek'] = async () => ({ session: stored, idleExpiresAt: Infinity });
  const store = { replace, peek } as SessionStore;
  const writes = createPendingWrites({ store, idleSeconds: 60, log: createLog('silent') });

  await expect(writes.write(sessionWith('first'), sessionWith('second').record)).rejects.toThrow(
    StoreUnavailableError,
  );
  const ended = writes.outcome('an-id');
  isDown = false;
  await writes.retry('an-id'); // a request stores the grant before the next background attempt
  isDown = true;
  await expect(writes.write(sessionWith('second'), sessionWith('third').record)).rejects.toThrow(
    StoreUnavailableError,
  );
  isDown = false;
  expect(await ended).toBe(true);
  expect(await writes.retry('an-id')).toMatchObject({ accessToken: 'third' });
});
