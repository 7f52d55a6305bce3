import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ROOT } from '../constants.ts';

/** The image that `npm run test:containers` has built. */
export const IMAGE = process.env['CLOAKROOM_IMAGE'] ?? 'cloakroom:local';

/** A prefix for all container and project names in these tests, so that leftovers are easy to find. */
export const NAME_PREFIX = process.env['CONTAINERS_RUN'] ?? 'cloakroom-test';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  /** Standard output followed by standard error. */
  readonly output: string;
}

type Env = Readonly<Record<string, string>>;

/** Runs `docker` in the project folder with `env` and this process's PATH, HOME and DOCKER_* variables. Resolves even if `docker` fails. */
export async function tryDocker(args: readonly string[], env: Env = {}): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(([name]) => /^(?:PATH|HOME|DOCKER_\w+)$/.test(name));
  const child = spawn('docker', args, {
    cwd: ROOT,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, output: stdout + stderr };
}

/** Runs `docker` and resolves with its standard output. If `docker` fails, rejects with all output. */
export async function docker(args: readonly string[], env: Env = {}): Promise<string> {
  const { code, stdout, output } = await tryDocker(args, env);
  if (code !== 0) throw new Error(`docker ${args.join(' ')} failed (${code}):\n${output}`);
  return stdout.trim();
}

/** Resolves with part of the output of `docker inspect`. */
export async function inspect<T>(name: string, format: string): Promise<T> {
  return JSON.parse(await docker(['inspect', '--format', `{{json ${format}}}`, name])) as T;
}

/** A JavaScript expression for the process id of the app, which is the only child of tini. */
export const APP_PROCESS = `Number(require('node:fs').readFileSync('/proc/1/task/1/children', 'utf8').split(' ', 1)[0])`;
