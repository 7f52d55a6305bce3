import { useFixture } from '../../support/fixtures.ts';
import { startCaddy } from '../../support/reverse-proxies/caddy.ts';
import { createReverseProxyOptions } from '../../support/reverse-proxies/reverse-proxy.ts';
import { startNginx } from '../../support/reverse-proxies/nginx.ts';
import { startTestApp } from '../../support/test-app.ts';

/** The reverse proxies that terminate TLS, with the configurations in deploy/. */
export const REVERSE_PROXIES = [
  ['nginx', startNginx],
  ['Caddy', startCaddy],
] as const;

/** Starts Cloakroom behind a reverse proxy before the tests of a `describe`, and disposes of both after the tests. */
export function useReverseProxy(startProxy: typeof startNginx | typeof startCaddy) {
  const options = useFixture(async () => ({
    ...(await createReverseProxyOptions()),
    async [Symbol.asyncDispose]() {},
  }));
  const testApp = useFixture(async () => startTestApp({ PUBLIC_URL: options.origin, TRUST_PROXY: '1' }));
  const proxy = useFixture(async () => startProxy(options, [`127.0.0.1:${testApp.config.port}`]));
  return { options, testApp, proxy };
}
