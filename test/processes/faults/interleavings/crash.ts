import { keyBesideSession } from '../../../../src/session/store.ts';
import { lockOwner, processAt } from './test-app.ts';
import type { TestApp } from './test-app.ts';
import { markUnsure } from './model.ts';

const DELETE_IF_OWNER = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

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
    if (found?.ticket.record.grant.accessToken === latest.brought) continue;
    latest.isExcused = true;
    if (rotates) markUnsure(session);
  }
}
