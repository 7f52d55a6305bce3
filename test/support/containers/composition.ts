import { randomBytes } from 'node:crypto';
import { Browser, type Page } from '../browser.ts';
import { freePort } from '../fleet/free-port.ts';
import { submitSignIn } from '../test-app.ts';
import { docker, IMAGE, NAME_PREFIX } from './docker.ts';

/** The containers of a `docker compose` project with its own name and ports. Disposal removes the containers. */
export interface Composition extends AsyncDisposable {
  /** The origin of the app. */
  readonly url: string;
  /** Runs `docker compose` for this project with additional variables and resolves with the output. */
  compose(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** Returns the name of a service's container. `at` is the number of the container, counting from 1. */
  container(service: string, at?: number): string;
}

interface CompositionOptions {
  /** Compose files in addition to docker-compose.yml. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The URL at which the browser reaches the service, without the port. */
  readonly serviceUrl?: string;
}

/** Starts docker-compose.yml with the demo profile and without a `.env` file. Resolves once all containers are healthy. */
export async function startComposition(options: CompositionOptions = {}): Promise<Composition> {
  const { files = [], serviceUrl } = options;
  const project = `${NAME_PREFIX}-${randomBytes(4).toString('hex')}`;
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
    throw new Error(`compose up failed:\n${logs}`, { cause: error });
  }
  return {
    url: `http://localhost:${port}`,
    compose,
    container: (service, at = 1) => `${project}-${service}-${at}`,
    [Symbol.asyncDispose]: down,
  };
}

/** Signs in through the pages and grants the app access. Resolves with the browser and the workspace list. */
export async function signInAt(
  url: string,
  browser = new Browser(),
): Promise<{ browser: Browser; page: Page }> {
  const consentPage = await submitSignIn(browser, await browser.open(`${url}/auth/login`));
  return { browser, page: await browser.follow(await browser.press(consentPage, 'Allow')) };
}
