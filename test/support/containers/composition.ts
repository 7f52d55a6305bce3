import { randomBytes } from 'node:crypto';
import { Browser } from '../browser.ts';
import type { Page } from '../browser.ts';
import { freePort } from '../fleet/free-port.ts';
import { passSignIn } from '../test-app.ts';
import { docker, IMAGE, RUN } from './docker.ts';

/** What `docker compose` has started, under a project name and on ports of its own. Its disposal leaves nothing of it behind. */
export interface Composition extends AsyncDisposable {
  /** What a browser opens. */
  readonly url: string;
  /** Runs `docker compose` in it, with more variables than it was started with, and resolves with what that printed. */
  compose(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** The name of a service's container; those of several are counted from 1. */
  container(service: string, at?: number): string;
}

interface CompositionOptions {
  /** Beside docker-compose.yml. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the browser finds the service, without its port, which only we know. */
  readonly serviceUrl?: string;
}

/** Starts the project's docker-compose.yml with its demo, without a `.env`, and resolves once all of it is healthy. */
export async function startComposition(options: CompositionOptions = {}): Promise<Composition> {
  const { files = [], serviceUrl } = options;
  const project = `${RUN}-${randomBytes(4).toString('hex')}`;
  const [port, servicePort] = [await freePort(), await freePort()];
  const env = {
    CLOAKROOM_IMAGE: IMAGE,
    PORT: String(port),
    LOCAL_SERVICE_PORT: String(servicePort),
    ...(serviceUrl !== undefined && { SERVICE_URL: `${serviceUrl}:${servicePort}` }),
    ...options.env,
  };
  const all = ['docker-compose.yml', ...files].flatMap((file) => ['--file', file]);
  const globals = ['--project-name', project, '--env-file', '/dev/null', '--profile', 'demo', ...all];
  const compose: Composition['compose'] = async (args, more = {}) =>
    docker(['compose', ...globals, ...args], { ...env, ...more });
  const down = async () => void (await compose(['down', '--volumes', '--remove-orphans', '--timeout', '5']));
  try {
    await compose(['up', '--detach', '--no-build', '--wait']);
  } catch (error) {
    const logs = await compose(['logs', '--tail', '50']);
    await down();
    throw new Error(`it did not come up:\n${logs}`, { cause: error });
  }
  return {
    url: `http://localhost:${port}`,
    compose,
    container: (service, at = 1) => `${project}-${service}-${at}`,
    [Symbol.asyncDispose]: down,
  };
}

/** Goes the whole way as a person does, and comes to the workspaces. */
export async function signInAt(
  url: string,
  browser = new Browser(),
): Promise<{ browser: Browser; page: Page }> {
  const consentPage = await passSignIn(browser, await browser.open(`${url}/auth/login`));
  return { browser, page: await browser.follow(await browser.press(consentPage, 'Allow')) };
}
