import { randomBytes } from 'node:crypto';
import { CLIENT_ID, CLIENT_SECRET, SESSION_KEY } from '../constants.ts';
import { docker, IMAGE, RUN } from './docker.ts';

/** One container of the image; its disposal removes it. */
export interface Container extends AsyncDisposable {
  readonly name: string;
  /** Runs JavaScript in it, and resolves with what that prints. */
  evaluate(script: string): Promise<string>;
}

/** Starts one in the background; `options` are those of `docker run`. */
export async function startContainer(
  options: readonly string[],
  command: readonly string[] = [],
): Promise<Container> {
  const name = `${RUN}-${randomBytes(4).toString('hex')}`;
  await docker(['run', '--detach', '--name', name, ...options, IMAGE, ...command]);
  return {
    name,
    evaluate: async (script) => docker(['exec', name, 'node', '--eval', script]),
    async [Symbol.asyncDispose]() {
      await docker(['rm', '--force', '--volumes', name]);
    },
  };
}

/** What the app needs to start; neither the service nor Redis is there. */
export const LONELY = Object.entries({
  PUBLIC_URL: 'http://localhost:3000',
  SERVICE_URL: 'http://localhost:4000',
  CLIENT_ID,
  CLIENT_SECRET,
  SCOPES: 'room:read',
  REDIS_URL: 'redis://localhost:6379',
  SESSION_KEYS: SESSION_KEY,
}).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
