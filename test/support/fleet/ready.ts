import { eventually } from '../eventually.ts';
import { send } from './requests.ts';
import type { Cloakroom } from './cloakroom.ts';

/** Where a third of a cluster hangs, it may take a few tries to find those that don't, on a machine that does much else. */
const WITHIN_MS = 20_000;

/** Resolves once a process can be used: it listens before it has found Redis. */
export async function ready({ url }: Cloakroom): Promise<void> {
  await eventually(async () => (await send(url, '', { path: '/readyz' })).status === 200, WITHIN_MS);
}
