import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { keyBesideSession } from '../../../../src/session/store.ts';
import { eventually } from '../../../support/eventually.ts';
import { call } from './actions.ts';
import { lockOwner, processAt, type TestApp } from './test-app.ts';
import { markUnsure, type SessionModel } from './model.ts';

const DELETE_IF_OWNER = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** Longer than a lock lives. */
const STANDSTILL_MS = 6_000;
/** For the other process so much time passes between two looks, until it gives the holder up or has waited for too long. */
const SKIP_MS = 500;
const LOOK_MS = 20;
const MOST_SKIPS = 50;

/** Takes the lock of a refresh away while its holder lives, as a Redis does that fails over. */
export async function loseLock({ fleet }: Pick<TestApp, 'fleet'>, { entered }: SessionModel): Promise<void> {
  await fleet.redis.del(keyBesideSession('cloakroom:', 'refresh-lock', entered.id));
}

/** Stops a process (SIGSTOP) for longer than locks live: none is left when it goes on, and its clock tells. */
export async function standStill(testApp: TestApp, slot: number): Promise<void> {
  const { model, fleet, ledger } = testApp;
  const cloakroom = processAt(testApp, slot);
  process.kill(cloakroom.pid, 'SIGSTOP');
  model.stopped = slot;
  testApp.standstills.push(cloakroom.pid);
  await eventually(async () => / T /.test(await readFile(`/proc/${cloakroom.pid}/stat`, 'utf8')));
  await cloakroom.skipTime(STANDSTILL_MS);
  await ledger.standsStill(cloakroom.pid);
  await Promise.all(model.sessions.map(async (session) => loseLock({ fleet }, session)));
}

/**
 * Uses a session at a process that lives, until that has given up the holder of the lock, which stands still. Resolves with whether
 * the process has sent a token request of its own.
 */
export async function takeOver(testApp: TestApp, session: SessionModel, slot: number): Promise<boolean> {
  const cloakroom = processAt(testApp, slot);
  const called = call(testApp, session, slot, 'api').then(() => true);
  for (let skips = 0; skips < MOST_SKIPS; skips += 1) {
    if (testApp.ledger.latest(session)?.by === cloakroom.pid) return true;
    if (await Promise.race([called, delay(LOOK_MS, false)])) break;
    await cloakroom.skipTime(SKIP_MS);
  }
  return testApp.ledger.latest(session)?.by === cloakroom.pid;
}

/** Lets the process that stands still go on. */
export function goOn({ fleet, model }: TestApp): void {
  const cloakroom = fleet.processes[model.stopped ?? NaN];
  model.stopped = null;
  if (cloakroom !== undefined) process.kill(cloakroom.pid, 'SIGCONT');
}

/**
 * kill -9 of a process, and a new one in its place. A lock that it held for a renewal at the token endpoint is taken
 * away at once, as if the five seconds were over in which it runs out.
 */
export async function crash(testApp: TestApp, slot: number): Promise<void> {
  const { fleet, model, ledger } = testApp;
  const cloakroom = processAt(testApp, slot);
  const owners = await Promise.all(model.sessions.map(async (session) => lockOwner(testApp, session)));

  testApp.killed.add(cloakroom);
  await cloakroom.kill();
  await excuseUnstored(testApp);
  const fresh = await fleet.replace(cloakroom);
  await excuseUnstored(testApp); // and those that had left when nobody here had heard of its end yet
  await fresh.setClock(model.aheadMs);

  for (const [at, session] of model.sessions.entries()) {
    if (ledger.latest(session)?.outcome !== 'given up') continue;
    const key = keyBesideSession('cloakroom:', 'refresh-lock', session.entered.id);
    await fleet.redis.eval(DELETE_IF_OWNER, 1, key, owners[at] ?? '');
  }
}

/** Answers of the token endpoint that had left for the dead process, and that it had not stored. */
async function excuseUnstored({ fleet, model, ledger, rotates }: TestApp): Promise<void> {
  for (const session of model.sessions) {
    const latest = ledger.latest(session);
    if (latest?.outcome !== 'renewed') continue;
    const found = await fleet.store.peek(session.entered.id);
    if (found?.session.record.grant.accessToken === latest.brought) continue;
    latest.isExcused = true;
    if (rotates) markUnsure(session);
  }
}
