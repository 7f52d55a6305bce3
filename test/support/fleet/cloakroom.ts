import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.ts';
import { startProgram } from '../programs.ts';
import { freePort } from './free-port.ts';

const CLOCK = fileURLToPath(new URL('clock.mjs', import.meta.url));

const MANIFEST = new URL('../../../package.json', import.meta.url);

/** What `npm start` gives to node. */
const START_OPTIONS = startOptions(readFileSync(MANIFEST, 'utf8'));

/** A line of Cloakroom's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** Cloakroom as it is shipped, in a process of its own. */
export interface Cloakroom extends AsyncDisposable {
  /** Where it listens: `http://127.0.0.1:port`. */
  readonly url: string;
  readonly pid: number;
  /** Everything that it has logged so far. */
  logged(): LogLine[];
  /** Lines that it has printed so far and that are no JSON. */
  strayLines(): string[];
  /** SIGHUP; resolves with what it then says of its secrets. */
  rereadSecrets(): Promise<LogLine>;
  /** Sets its clock this far from that of the machine. */
  setClock(skewMs: number): Promise<void>;
  /** Adds to the time that has passed by its performance.now(); its timers keep theirs. */
  skipTime(ms: number): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts `dist/main.js` with these variables, unless told otherwise on a port of its own: nobody else gets that between its end and
 * the start of another in its place.
 */
export async function startCloakroom(env: Readonly<Record<string, string>>): Promise<Cloakroom> {
  const args = [...START_OPTIONS, '--import', CLOCK, 'dist/main.js'];
  const PORT = env['PORT'] ?? String(await freePort());
  const settings = { NODE_ENV: 'production', LOG_LEVEL: 'debug', ...env, PORT };
  const program = await startProgram(process.execPath, args, settings);
  const { child } = program;
  const logged = () =>
    program.lines().flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  let skippedMs = 0;
  const setSkew = async (at: number, ms: number) => {
    await using file = await open(join(program.folder, 'clocks'), 'r+'); // clock.mjs reads it
    await file.write(
      Float64Array.of(ms),
      0,
      Float64Array.BYTES_PER_ELEMENT,
      at * Float64Array.BYTES_PER_ELEMENT,
    );
  };
  const ofSecrets = () => logged().filter(({ msg }) => /^(?:no secrets|secrets) /.test(msg));
  const [, port = ''] = await program.prints(/"url":"http:\/\/[^"]*:(\d+)"[^\n]*"msg":"listening"/);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    logged,
    strayLines: () => program.lines().filter((line) => line !== '' && !line.startsWith('{')),
    async rereadSecrets() {
      const before = ofSecrets().length;
      child.kill('SIGHUP');
      await eventually(async () => ofSecrets().length > before);
      return ofSecrets()[before] as LogLine;
    },
    setClock: async (skewMs) => setSkew(0, skewMs),
    skipTime: async (ms) => setSkew(1, (skippedMs += ms)),
    async kill() {
      child.kill('SIGKILL');
      await program.ended();
    },
    async stop() {
      child.kill('SIGTERM');
      return (await program.ended()).code;
    },
    [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose](),
  };
}

function startOptions(manifest: string): string[] {
  const { scripts } = JSON.parse(manifest) as { scripts: { start: string } };
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}
