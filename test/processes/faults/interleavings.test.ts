import { afterAll, describe, expect, test } from '@jest/globals';
import { useFleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import { fc, scaled } from '../../support/properties.ts';
import { COMMANDS, CONTINUE, stopAt } from './interleavings/commands.ts';
import { createSession } from './interleavings/actions.ts';
import { resetFleet, checkRun, settle, useEverySession } from './interleavings/checks.ts';
import { startRun, type History, type Run } from './interleavings/run.ts';
import { LIFETIME_MS, createModel, type Model } from './interleavings/model.ts';

/**
 * The number of runs with rotation, which is three times the number without rotation. A failing run prints its seed, path and
 * replayPath. To repeat a run, pass the seed and path to `fc.assert`, and the replayPath to `fc.commands`.
 */
const RUNS = scaled(24);
const SHRINK_FOR_MS = 30_000;
/** Long enough for a slow machine to print a failing sequence. */
const RUNS_FOR_AT_MOST_MS = scaled(240_000);

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

  const runCommands = async (commands: Iterable<fc.AsyncCommand<Model, Run>>) => {
    const model = createModel();
    const run = startRun(fleet, proxy, model, rotates, history);
    try {
      await createSession(run, LIFETIME_MS);
      await fc.asyncModelRun(() => ({ model, real: run }), commands);
      await settle(run);
      await useEverySession(run);
      await checkRun(run);
    } finally {
      await resetFleet(run);
    }
  };

  test.each(['lock reply', 'token request', 'token response'] as const)(
    'the session survives if a process is stopped at its %s and another process takes over the refresh',
    async (barrier) => {
      history.takenOver.length = 0;
      // On a busy machine, the request may not reach its barrier in time, or the other process may fail before taking over.
      await eventually(async () => {
        await runCommands([stopAt({ barrier, number: 0, process: 0, token: 'expired' }), CONTINUE]);
        return history.takenOver.length > 0;
      });
      expect(history.takenOver).toEqual([barrier]);
    },
  );

  test(
    'whatever the order of events, a session ends only if one of the events can end it',
    async () => {
      let giveUpAt = Infinity;
      const property = fc.asyncProperty(COMMANDS, async (commands) => {
        if (performance.now() > giveUpAt) return;
        await runCommands(commands).catch((error: unknown) => {
          giveUpAt = Math.min(giveUpAt, performance.now() + SHRINK_FOR_MS);
          throw error;
        });
      });
      const before = history.runs;
      await fc.assert(property, { numRuns });
      expect(history.runs - before).toBe(numRuns);
    },
    RUNS_FOR_AT_MOST_MS + SHRINK_FOR_MS,
  );
});
