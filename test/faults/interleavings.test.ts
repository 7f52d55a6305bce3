import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { closeCalls } from '../support/fleet/calls.ts';
import { startFleet } from '../support/fleet/fleet.ts';
import type { Fleet } from '../support/fleet/fleet.ts';
import { reportFault } from '../support/fleet/report.ts';
import { fc, times } from '../support/properties.ts';
import { COMMANDS } from './interleavings/commands.ts';
import { enter } from './interleavings/deeds.ts';
import { cleanUp, look, settle, useAll } from './interleavings/ending.ts';
import { openHouse } from './interleavings/house.ts';
import type { History, House } from './interleavings/house.ts';
import { LIFETIME_MS, createModel } from './interleavings/model.ts';
import type { Model } from './interleavings/model.ts';

/**
 * How many runs there are with rotation, the hard case; without it there are a third of that.
 * A failure prints its seed, its path and the replayPath of its commands: given to `fc.assert` (seed, path) and to
 * `fc.commands` (replayPath), they bring it back.
 */
const RUNS = times(40);

/** On average: a slow machine is done with fewer runs, and the report says with how many. */
const MOST_MS_PER_RUN = 500;
const MAKES_SMALLER_FOR_MS = 30_000;
const CLOSING_MS = 60_000;

afterAll(closeCalls);

describe.each([
  { rotation: 'on', numRuns: RUNS },
  { rotation: 'off', numRuns: Math.ceil(RUNS / 3) },
])('with rotation $rotation', ({ rotation, numRuns }) => {
  const rotates = rotation === 'on';
  const timeLimitMs = numRuns * MOST_MS_PER_RUN;
  /** However slow the machine is. */
  const leastRuns = Math.ceil(numRuns / 4);
  const history: History = { runs: 0, answers: [], lost: new Set() };
  let fleet: Fleet;

  beforeAll(async () => {
    const env = { TOKEN_TIMEOUT_SECONDS: '120', SERVICE_TIMEOUT_SECONDS: '120' };
    const service = { LOCAL_SERVICE_ROTATE_REFRESH: String(rotates) };
    fleet = await startFleet({ processes: 2, env, service });
  });
  afterAll(async () => {
    reportFault({
      fault: `${history.runs} random interleavings, rotation ${rotation}`,
      answers: history.answers,
      sessionsLost: history.lost.size,
    });
    await fleet[Symbol.asyncDispose]();
  });

  const play = async (commands: Iterable<fc.AsyncCommand<Model, House>>) => {
    const model = createModel();
    const house = openHouse(fleet, model, rotates, history);
    try {
      await enter(house, LIFETIME_MS);
      await fc.asyncModelRun(() => ({ model, real: house }), commands);
      await settle(house);
      await useAll(house);
      await look(house);
    } finally {
      await cleanUp(house);
    }
  };

  /** Throws with the smallest sequence of commands that leads to something that is not allowed. */
  const expectOnlyWhatIsAllowed = async () => {
    let giveUpAt = performance.now() + timeLimitMs;
    let hasFailed = false;
    const failed = (error: unknown) => {
      if (!hasFailed) giveUpAt = performance.now() + MAKES_SMALLER_FOR_MS;
      hasFailed = true;
      throw error;
    };
    const property = fc.asyncProperty(COMMANDS, async (commands) => {
      const isDue = history.runs < leastRuns && !hasFailed;
      if (isDue || performance.now() < giveUpAt) await play(commands).catch(failed);
    });
    await fc.assert(property, { numRuns });
    expect(history.runs).toBeGreaterThanOrEqual(leastRuns);
  };

  test(
    'in any order of events a session ends where it was ended, and nowhere else',
    async () => expectOnlyWhatIsAllowed(),
    timeLimitMs + MAKES_SMALLER_FOR_MS + CLOSING_MS,
  );
});
