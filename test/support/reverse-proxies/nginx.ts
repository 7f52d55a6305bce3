import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChildProgram } from '../child-program.mjs';
import { eventually } from '../eventually.ts';
import { isUp, type ReverseProxy, type ReverseProxyOptions } from './reverse-proxy.ts';
import { writeNginxConf } from './nginx-conf.mjs';

/** Starts nginx in front of the processes at `hosts` (`127.0.0.1:port`). Resolves once nginx accepts connections. */
export async function startNginx(
  options: ReverseProxyOptions,
  hosts: readonly string[],
): Promise<ReverseProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-nginx-'));
  const at = (name: string) => join(folder, name);
  const command = await writeNginxConf(folder, options, hosts);
  const master = async () => Number(await readFile(at('nginx.pid'), 'utf8'));
  const workers = async () => {
    const pid = await master();
    return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  };
  const program = await startChildProgram(command, {}, async () => isUp(options));
  return {
    async logged() {
      const names = ['access.log', 'error.log', 'all.log'];
      const logs = await Promise.all(names.map(async (name) => readFile(at(name), 'utf8').catch(() => '')));
      return logs.join('') + program.printed();
    },
    async takeOutOfRotation(host) {
      const config = (await readFile(at('cloakroom.conf'), 'utf8')).replaceAll(' down;', ';');
      const line = `server ${host} fail_timeout=2s`;
      await writeFile(at('cloakroom.conf'), config.replaceAll(`${line};`, `${line} down;`));
      const before = await workers();
      process.kill(await master(), 'SIGHUP');
      // Old workers exit after their last request.
      await eventually(async () => (await workers()).every((pid) => !before.includes(pid)));
    },
    async changeCertificate({ cert, key }) {
      await writeFile(at('cert.pem'), cert);
      await writeFile(at('key.pem'), key);
      process.kill(await master(), 'SIGHUP');
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
