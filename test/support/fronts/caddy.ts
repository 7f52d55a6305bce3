import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startKeptProgram } from '../kept-program.mjs';
import { isUp } from './front.ts';
import type { Front, Place } from './front.ts';

/** The very file that operators are given. */
const CONFIG = fileURLToPath(new URL('../../../deploy/Caddyfile', import.meta.url));

/** Caddy with that file as it is. It finds the processes at `hosts` (`127.0.0.1:port`); resolves once it answers. */
export async function startCaddy(place: Place, hosts: readonly string[]): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-caddy-'));
  const at = (name: string) => join(folder, name);
  await writeFile(at('cert.pem'), place.certificate.cert);
  await writeFile(at('key.pem'), place.certificate.key);
  const env = {
    HOME: folder, // where it keeps its state
    BIND: 'default_bind 127.0.0.1',
    HTTP_PORT: String(place.httpPort),
    HTTPS_PORT: String(place.httpsPort),
    PUBLIC_URL: place.origin,
    CERTIFICATE: at('cert.pem'),
    CERTIFICATE_KEY: at('key.pem'),
    CLOAKROOM: hosts.join(' '),
  };
  const command = ['caddy', 'run', '--config', CONFIG, '--adapter', 'caddyfile'] as const;
  const program = await startKeptProgram([...command], env, async () => isUp(place));
  return {
    logged: async () => program.printed(),
    async leaveOut() {}, // it checks, and so is told
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
