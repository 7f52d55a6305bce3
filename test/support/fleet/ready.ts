import { eventually } from '../programs.ts';
import { call } from './calls.ts';
import type { Cloakroom } from './cloakroom.ts';

/** Resolves once a process can be used: it listens before it has found Redis. */
export async function ready({ url }: Cloakroom): Promise<void> {
  await eventually(async () => (await call(url, '', { path: '/readyz' })).status === 200);
}
