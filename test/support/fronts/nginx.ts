import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKeptProgram } from '../kept-program.ts';
import { isUp } from './front.ts';
import type { Front, Place } from './front.ts';
import { writeNginxConf } from './nginx-conf.mjs';

/**
 * nginx with that file, as its own configuration includes it on Debian: logs and compression are on there. It finds the
 * processes at `hosts` (`127.0.0.1:port`); resolves once it answers.
 */
export async function startNginx(place: Place, hosts: readonly string[]): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-nginx-'));
  const at = (name: string) => join(folder, name);
  const command = await writeNginxConf(folder, place, hosts);
  const program = await startKeptProgram(command, {}, async () => isUp(place));
  return {
    async logged() {
      const names = ['access.log', 'error.log', 'all.log'];
      const logs = await Promise.all(names.map(async (name) => readFile(at(name), 'utf8').catch(() => '')));
      return logs.join('') + program.printed();
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
