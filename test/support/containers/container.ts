import { randomBytes } from 'node:crypto';
import { CLIENT_ID, CLIENT_SECRET, SESSION_KEY } from '../constants.ts';
import { docker, IMAGE, NAME_PREFIX } from './docker.ts';

/** A container started from the image. Disposal removes the container. */
export interface Container extends AsyncDisposable {
  readonly name: string;
  /** Runs JavaScript in the container and resolves with the output. */
  evaluate(script: string): Promise<string>;
}

/** Starts a container in the background. `options` are passed to `docker run`. */
export async function startContainer(
  options: readonly string[],
  command: readonly string[] = [],
): Promise<Container> {
  const name = `${NAME_PREFIX}-${randomBytes(4).toString('hex')}`;
  await docker(['run', '--detach', '--name', name, ...options, IMAGE, ...command]);
  return {
    name,
    evaluate: async (script) => docker(['exec', name, 'node', '--eval', script]),
    async [Symbol.asyncDispose]() {
      await docker(['rm', '--force', '--volumes', name]);
    },
  };
}

/** The variables that the app requires, as `docker run` options. Nothing listens at the URLs for Redis and the service. */
export const MINIMAL_ENV = Object.entries({
  PUBLIC_URL: 'http://localhost:3000',
  SERVICE_URL: 'http://localhost:4000',
  CLIENT_ID,
  CLIENT_SECRET,
  SCOPES: 'room:read',
  REDIS_URL: 'redis://localhost:6379',
  SESSION_KEYS: SESSION_KEY,
}).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
