import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { closeConnections } from '../../support/fleet/requests.ts';
import { startFleet, type Fleet } from '../../support/fleet/fleet.ts';
import { startRedisServer, type RedisServer } from '../../support/fleet/redis-server.ts';
import { eventually } from '../../support/eventually.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startRedisProxy, type RedisProxy } from '../../support/fleet/redis-proxy.ts';
import { fc, times } from '../../support/properties.ts';
import { COMMANDS, GOES_ON, standStillAt } from './interleavings/commands.ts';
import { enter } from './interleavings/actions.ts';
import { cleanUp, look, settle, useAll } from './interleavings/ending.ts';
import { openApp, type History, type TestApp } from './interleavings/test-app.ts';
import { LIFETIME_MS, createModel, type Model } from './interleavings/model.ts';

/**
 * How many runs there are with rotation, the hard case; without it there are a third of that.
 * A failure prints its seed, its path and the replayPath of its commands: given to `fc.assert` (seed, path) and to
 * `fc.commands` (replayPath), they bring it back.
 */
const RUNS = times(24);

/** How long a failed run is made smaller, at most. */
const MAKES_SMALLER_FOR_MS = 30_000;
/** So that a slow machine still says which sequence failed. */
const RUNS_FOR_AT_MOST_MS = times(240_000);

afterAll(closeConnections);

describe.each([
  { rotation: 'on', numRuns: RUNS },
  { rotation: 'off', numRuns: Math.ceil(RUNS / 3) },
])('with rotation $rotation', ({ rotation, numRuns }) => {
  const rotates = rotation === 'on';
  const history: History = { runs: 0, responses: [], lost: new Set(), takenOver: [] };
  let redis: RedisServer;
  let line: RedisProxy;
  let fleet: Fleet;

  beforeAll(async () => {
    const env = { TOKEN_TIMEOUT_SECONDS: '600', SERVICE_TIMEOUT_SECONDS: '120' };
    const service = { LOCAL_SERVICE_ROTATE_REFRESH: String(rotates) };
    redis = await startRedisServer();
    line = await startRedisProxy(redis.port);
    fleet = await startFleet({ processes: 2, redisUrl: line.url, env, service });
  });
  afterAll(async () => {
    reportFault({
      fault: `${history.runs} random interleavings, rotation ${rotation}`,
      responses: history.responses,
      sessionsLost: history.lost.size,
    });
    await fleet[Symbol.asyncDispose]();
    await line[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
  });

  const play = async (commands: Iterable<fc.AsyncCommand<Model, TestApp>>) => {
    const model = createModel();
    const testApp = openApp(fleet, line, model, rotates, history);
    try {
      await enter(testApp, LIFETIME_MS);
      await fc.asyncModelRun(() => ({ model, real: testApp }), commands);
      await settle(testApp);
      await useAll(testApp);
      await look(testApp);
    } finally {
      await cleanUp(testApp);
    }
  };

  /** Throws with the smallest sequence of commands that leads to something that is not allowed. */
  const expectOnlyWhatIsAllowed = async () => {
    let giveUpAt = Infinity;
    const failed = (error: unknown) => {
      giveUpAt = Math.min(giveUpAt, performance.now() + MAKES_SMALLER_FOR_MS);
      throw error;
    };
    const property = fc.asyncProperty(COMMANDS, async (commands) => {
      if (performance.now() < giveUpAt) await play(commands).catch(failed);
    });
    const before = history.runs;
    await fc.assert(property, { numRuns });
    expect(history.runs - before).toBe(numRuns);
  };

  test.each(['lock reply', 'token question', 'token response'] as const)(
    'a process that stands still at its %s while another one refreshes harms no session',
    async (where) => {
      history.takenOver.length = 0;
      // On a busy machine the call may not come to its gate in time, or the other process may give up before it takes over.
      await eventually(async () => {
        await play([standStillAt(where, 0, 0, 'spent'), GOES_ON]);
        return history.takenOver.length > 0;
      });
      expect(history.takenOver).toEqual([where]);
    },
  );

  test(
    'in any order of events a session ends where it was ended, and nowhere else',
    async () => expectOnlyWhatIsAllowed(),
    RUNS_FOR_AT_MOST_MS + MAKES_SMALLER_FOR_MS,
  );
});
