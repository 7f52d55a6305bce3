import { afterAll, describe, expect, test } from '@jest/globals';
import { useFleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import { fc, times } from '../../support/properties.ts';
import { COMMANDS, GOES_ON, standStillAt } from './interleavings/commands.ts';
import { createSession } from './interleavings/actions.ts';
import { cleanUp, checkRun, settle, useAll } from './interleavings/ending.ts';
import { startRun, type History, type Run } from './interleavings/run.ts';
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

describe.each([
  { rotation: 'on', numRuns: RUNS },
  { rotation: 'off', numRuns: Math.ceil(RUNS / 3) },
])('with rotation $rotation', ({ rotation, numRuns }) => {
  const rotates = rotation === 'on';
  const history: History = { runs: 0, responses: [], lost: new Set(), takenOver: [] };
  const redis = useFixture(startRedisServer);
  const proxy = useFixture(async () => startRedisProxy(redis.port));
  const fleet = useFleet(() => ({
    processes: 2,
    redisUrl: proxy.url,
    env: { TOKEN_TIMEOUT_SECONDS: '600', SERVICE_TIMEOUT_SECONDS: '120' },
    service: { LOCAL_SERVICE_ROTATE_REFRESH: String(rotates) },
  }));
  afterAll(() =>
    reportFault(`${history.runs} random interleavings, rotation ${rotation}`, history.responses, {
      sessionsLost: history.lost.size,
    }),
  );

  const playCommands = async (commands: Iterable<fc.AsyncCommand<Model, Run>>) => {
    const model = createModel();
    const run = startRun(fleet, proxy, model, rotates, history);
    try {
      await createSession(run, LIFETIME_MS);
      await fc.asyncModelRun(() => ({ model, real: run }), commands);
      await settle(run);
      await useAll(run);
      await checkRun(run);
    } finally {
      await cleanUp(run);
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
      if (performance.now() < giveUpAt) await playCommands(commands).catch(failed);
    });
    const before = history.runs;
    await fc.assert(property, { numRuns });
    expect(history.runs - before).toBe(numRuns);
  };

  test.each(['lock reply', 'token request', 'token response'] as const)(
    'a process that stands still at its %s while another one refreshes harms no session',
    async (where) => {
      history.takenOver.length = 0;
      // On a busy machine the call may not come to its barrier in time, or the other process may give up before it takes over.
      await eventually(async () => {
        await playCommands([standStillAt(where, 0, 0, 'expired'), GOES_ON]);
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
