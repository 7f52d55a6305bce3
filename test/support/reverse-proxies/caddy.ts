import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Certificate } from '../certificate.ts';
import { startChildProgram } from '../child-program.mjs';
import { isUp, type ReverseProxy, type ReverseProxyOptions } from './reverse-proxy.ts';

/** The configuration that operators use. */
const CONFIG = fileURLToPath(new URL('../../../deploy/Caddyfile', import.meta.url));

/** Starts Caddy in front of the processes at `hosts` (`127.0.0.1:port`). Resolves once Caddy accepts connections. */
export async function startCaddy(
  options: ReverseProxyOptions,
  hosts: readonly string[],
): Promise<ReverseProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-caddy-'));
  const at = (name: string) => join(folder, name);
  const writeCertificate = async ({ cert, key }: Certificate) => {
    await writeFile(at('cert.pem'), cert);
    await writeFile(at('key.pem'), key);
  };
  await writeCertificate(options.certificate);
  const env = {
    HOME: folder, // Caddy stores its state in HOME
    BIND: 'default_bind 127.0.0.1',
    HTTP_PORT: String(options.httpPort),
    HTTPS_PORT: String(options.httpsPort),
    PUBLIC_URL: options.origin,
    CERTIFICATE: at('cert.pem'),
    CERTIFICATE_KEY: at('key.pem'),
    CLOAKROOM: hosts.join(' '),
    ADMIN: `unix/${at('admin.sock')}`,
  };
  const config = ['--config', CONFIG, '--adapter', 'caddyfile'];
  const program = await startChildProgram(['caddy', 'run', ...config], env, async () => isUp(options));
  return {
    logged: async () => program.printed(),
    async takeOutOfRotation() {}, // Caddy's health checks notice the draining process
    async changeCertificate(certificate) {
      await writeCertificate(certificate);
      // Reload the configuration with the same environment variables.
      await promisify(execFile)('caddy', ['reload', '--force', ...config], {
        env: { PATH: process.env['PATH'], ...env },
      });
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
