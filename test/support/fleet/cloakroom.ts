import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.ts';
import { startProgram } from '../programs.ts';
import { freePort } from './free-port.ts';
import { send } from './requests.ts';

const CLOCK = fileURLToPath(new URL('clock.mjs', import.meta.url));

const MANIFEST = new URL('../../../package.json', import.meta.url);

const { scripts } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { scripts: { start: string } };

/** The Node options in `npm start`. */
const START_OPTIONS = scripts.start.split(' ').filter((word) => word.startsWith('--'));

/** A line in Cloakroom's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** Cloakroom as operators run it, in its own process. */
export type Cloakroom = Awaited<ReturnType<typeof startCloakroom>>;

/** Starts `dist/main.js`, by default on a port that stays reserved when the process is replaced. */
export async function startCloakroom(env: Readonly<Record<string, string>>) {
  const args = [...START_OPTIONS, '--import', CLOCK, 'dist/main.js'];
  const PORT = env['PORT'] ?? String(await freePort());
  const settings = { NODE_ENV: 'production', LOG_LEVEL: 'debug', ...env, PORT };
  const program = await startProgram(process.execPath, args, settings);
  const { child } = program;
  const logged = () =>
    program.lines().flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  let skippedMs = 0;
  const setSkew = async (at: number, ms: number) => {
    await using file = await open(join(program.folder, 'clocks'), 'r+'); // clock.mjs reads this file
    await file.write(Float64Array.of(ms), 0, 8, at * 8);
  };
  const reloadLines = () => logged().filter(({ msg }) => /^(?:no secrets|secrets) /.test(msg));
  const [, port = ''] = await program.waitForOutput(/"url":"http:\/\/[^"]*:(\d+)"[^\n]*"msg":"listening"/);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    logged,
    /** Returns all output lines so far that are not JSON. */
    nonJsonLines: () => program.lines().filter((line) => line !== '' && !line.startsWith('{')),
    /** Sends SIGHUP. Resolves with the log line about the reload. */
    async reloadSecrets() {
      const before = reloadLines().length;
      child.kill('SIGHUP');
      await eventually(async () => reloadLines().length > before);
      return reloadLines()[before] as LogLine;
    },
    /** Sets the difference between the process's clock and the machine's clock. */
    setClockSkew: async (skewMs: number) => setSkew(0, skewMs),
    /** Moves the process's `performance.now()` forward without affecting timers. */
    advanceMonotonicClock: async (ms: number) => setSkew(1, (skippedMs += ms)),
    /** Sends SIGKILL. Resolves once the process has ended. */
    async kill() {
      child.kill('SIGKILL');
      await program.waitForExit();
    },
    /** Sends SIGTERM. Resolves with the exit code. */
    async stop() {
      child.kill('SIGTERM');
      return (await program.waitForExit()).code;
    },
    [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose](),
  };
}

/** On a busy machine, Cloakroom may need several attempts to find the cluster nodes that respond. */
const READY_WITHIN_MS = 20_000;

/** Resolves once a process is ready. A process starts listening before it connects to Redis. */
export async function untilReady({ url }: Cloakroom): Promise<void> {
  const isReady = async () => (await send(url, '', { path: '/readyz' })).status === 200;
  await eventually(isReady, READY_WITHIN_MS);
}
