import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '../../../src/errors.ts';
import { startGetex } from '../../support/redis/session-reader.ts';
import { startScriptedRedis } from '../../support/redis/scripted-redis.ts';
import type { Asker, ScriptedRedis } from '../../support/redis/scripted-redis.ts';

const SECONDS = 1_000;

let redis: ScriptedRedis;
beforeAll(async () => {
  redis = await startScriptedRedis();
});
afterAll(async () => redis[Symbol.asyncDispose]());
afterEach(() => {
  redis.onGetex = sayKey;
});

/** Each key is its own value. */
const valueOf = (key: string) => `$${key.length}\r\n${key}\r\n`;
function sayKey(key: string, { say }: Asker): void {
  say(valueOf(key));
}

/** From now on, whoever asks for `key` is answered like this; all others get their key. */
function at(key: string, answer: (asker: Asker) => void): void {
  redis.onGetex = (asked, asker) => (asked === key ? answer(asker) : sayKey(asked, asker));
}

/** Over which connection a read goes. */
async function askerOf(getex: (key: string) => Promise<unknown>): Promise<Asker> {
  const askers: Asker[] = [];
  redis.onGetex = (key, asker) => {
    askers.push(asker);
    sayKey(key, asker);
  };
  await getex('who');
  redis.onGetex = sayKey;
  const [asker] = askers;
  if (asker === undefined) throw new Error('nobody asked');
  return asker;
}

const fulfilled = (value: string) => ({ status: 'fulfilled', value });
/** By the loss of the connection, not by the clock. */
const lost = {
  status: 'rejected',
  reason: expect.objectContaining({ cause: new Error('The connection to Redis is lost') }),
};
const unavailable = { status: 'rejected', reason: expect.any(StoreUnavailableError) };

describe('a reply that is none', () => {
  test.each(['+OK\r\n', ':1\r\n', '*1\r\n$5\r\nstale\r\n', '$1\r\nstale\r\n', '\r\n', 'stale\n'])(
    '%j ends the connection and fails all that is due; no later read gets an earlier reply',
    async (nonsense) => {
      await using own = await startGetex(redis.url, SECONDS);
      await own.apart();
      const asker = await askerOf(own.getex);
      at('b', ({ say }) => say(`${nonsense}${valueOf('stale')}`));
      const reads = await Promise.allSettled([own.getex('a'), own.getex('b'), own.getex('c')]);
      expect(reads).toEqual([fulfilled('a'), lost, lost]);
      await asker.closed;
      const later = ['d', 'e', 'f'];
      expect(await Promise.all(later.map(own.getex))).toEqual(later);
      await own.apart();
      expect(await Promise.all(later.map(own.getex))).toEqual(later);
    },
  );

  test('nor does one that nobody has asked for reach anyone', async () => {
    await using own = await startGetex(redis.url, SECONDS);
    await own.apart();
    const asker = await askerOf(own.getex);
    asker.say(valueOf('stale'));
    await asker.closed;
    await own.apart();
    expect(await own.getex('a')).toBe('a');
  });

  test('nor does a second one to the same command', async () => {
    await using own = await startGetex(redis.url, SECONDS);
    await own.apart();
    const asker = await askerOf(own.getex);
    at('a', ({ say }) => say(`${valueOf('a')}${valueOf('stale')}`));
    expect(await own.getex('a')).toBe('a');
    await asker.closed;
    await own.apart();
    expect(await own.getex('b')).toBe('b');
  });
});

test('of a reply that breaks off in the middle nothing is left for the next connection', async () => {
  await using own = await startGetex(redis.url, SECONDS);
  await own.apart();
  at('b', ({ say, hangUp }) => {
    say('$5\r\nhal');
    hangUp();
  });
  const reads = await Promise.allSettled([own.getex('a'), own.getex('b'), own.getex('c')]);
  expect(reads).toEqual([fulfilled('a'), lost, lost]);
  await own.apart();
  expect(await Promise.all(['d', 'e'].map(own.getex))).toEqual(['d', 'e']);
});

test.each([
  "-READONLY You can't write against a read only replica.\r\n",
  '-ERR Error running script: @user_script: 1: -READONLY no writes\r\n',
])('after %j the connection is made anew, and later reads get their own', async (refusal) => {
  await using own = await startGetex(redis.url, SECONDS);
  await own.apart();
  const asker = await askerOf(own.getex);
  at('b', ({ say }) => say(refusal));
  const reads = [own.getex('a'), own.getex('b')];
  expect(await Promise.allSettled(reads)).toEqual([fulfilled('a'), unavailable]);
  await asker.closed;
  await own.apart();
  expect(await askerOf(own.getex)).not.toBe(asker);
  expect(await own.getex('c')).toBe('c');
});

test('after another refusal the connection stays', async () => {
  await using own = await startGetex(redis.url, SECONDS);
  await own.apart();
  const asker = await askerOf(own.getex);
  at('b', ({ say }) => say('-MISCONF The disk is full\r\n'));
  await expect(own.getex('b')).rejects.toMatchObject({ cause: { message: 'MISCONF The disk is full' } });
  expect(await askerOf(own.getex)).toBe(asker);
});

describe('when Redis takes too long', () => {
  const NEVER = 'never';
  const LATE = 'late';
  /** Of an answer or an error: what it is, and after how long (ms). */
  const timed = async (read: Promise<string | null>) => {
    const began = performance.now();
    const outcome = await read.catch((error: unknown) => error);
    return { outcome, ms: performance.now() - began };
  };
  type Timed = Awaited<ReturnType<typeof timed>>;

  let given: Record<'silent' | 'behindIt' | 'asAsked', Timed>;
  let answered: Record<'late' | 'meanwhile' | 'after', unknown>;
  let anew: string | null;
  let idle: [before: Asker, after: Asker];
  let slow: [before: Asker, after: Asker];

  // At once, as far as they keep to the clock of this machine: it takes the time that it takes.
  beforeAll(async () => {
    await using one = await startGetex(redis.url, SECONDS);
    await using two = await startGetex(redis.url, SECONDS);
    await using three = await startGetex(redis.url, SECONDS);
    await using quiet = await startGetex(redis.url, SECONDS);
    await Promise.all([one, two, three, quiet].map(async ({ apart }) => apart()));
    const leftAlone = await askerOf(one.getex);
    const slowBefore = await askerOf(three.getex);
    const idleBefore = await askerOf(quiet.getex);
    let sayLate = () => {};
    redis.onGetex = (key, asker) => {
      if (key.startsWith(LATE)) sayLate = () => asker.say(valueOf(key));
      else if (!key.startsWith(NEVER)) sayKey(key, asker);
    };

    const silence = async () => {
      const silent = timed(one.getex(NEVER));
      await delay(1_000); // far from both: the connection is given up 0.7 s from here, and this would fail by itself after 1.5
      const behindIt = timed(one.getex(NEVER));
      await leftAlone.closed;
      anew = await one.getex('anew');
      return { silent: await silent, behindIt: await behindIt };
    };
    const laterRead = async () => {
      await two.getex('answered'); // its clock goes on
      await delay(300);
      return { asAsked: await timed(two.getex(NEVER)) };
    };
    const lateness = async () => {
      // Between the two times that a reply has, however long this takes.
      const now = performance.now() + 1_600;
      const asked = three.getex(LATE);
      const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
      try {
        const late = await asked.catch((error: unknown) => error);
        const meanwhile = three.getex('meanwhile');
        await new Promise(setImmediate);
        sayLate();
        // Redis answers in turn: this one could not come before it.
        return { late, meanwhile: await meanwhile, after: await three.getex('after') };
      } finally {
        clock.mockRestore();
      }
    };
    const [first, second] = await Promise.all([silence(), laterRead()]);
    given = { ...first, ...second };
    answered = await lateness();
    slow = [slowBefore, await askerOf(three.getex)];
    idle = [idleBefore, await askerOf(quiet.getex)];
  });

  test('a read fails after a second and a half', () => {
    expect(given.silent.outcome).toBeInstanceOf(StoreUnavailableError);
    expect(given.silent.ms).toBeGreaterThan(1_450);
  });

  test('the connection is given up soon after, with what was asked behind it', () => {
    expect(given.behindIt.outcome).toEqual(lost.reason);
    expect(anew).toBe('anew');
  });

  test('each read has its own second and a half, whenever the one before it was asked', () => {
    expect(given.asAsked.outcome).toBeInstanceOf(StoreUnavailableError);
    expect(given.asAsked.ms).toBeGreaterThan(1_450);
  });

  test('a late reply is dropped, and the next read gets its own over the same connection', () => {
    expect(answered.late).toBeInstanceOf(StoreUnavailableError);
    expect(answered.meanwhile).toBe('meanwhile');
    expect(answered.after).toBe('after');
    expect(slow[1]).toBe(slow[0]);
  });

  test('a connection over which nothing is asked stays', () => {
    expect(idle[1]).toBe(idle[0]);
  });
});
