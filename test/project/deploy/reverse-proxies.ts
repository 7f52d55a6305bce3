import { useFixture } from '../../support/fixtures.ts';
import { startCaddy } from '../../support/reverse-proxies/caddy.ts';
import { createPlace } from '../../support/reverse-proxies/reverse-proxy.ts';
import { startNginx } from '../../support/reverse-proxies/nginx.ts';
import { startTestApp } from '../../support/test-app.ts';

/** The reverse proxies that terminate TLS, with the configurations in deploy/. */
export const REVERSE_PROXIES = [
  ['nginx', startNginx],
  ['Caddy', startCaddy],
] as const;

/** Starts Cloakroom behind a reverse proxy before the tests of a `describe`, and disposes of both after them. */
export function useReverseProxy(startFront: typeof startNginx | typeof startCaddy) {
  const place = useFixture(async () => ({ ...(await createPlace()), async [Symbol.asyncDispose]() {} }));
  const testApp = useFixture(async () => startTestApp({ PUBLIC_URL: place.origin, TRUST_PROXY: '1' }));
  const front = useFixture(async () => startFront(place, [`127.0.0.1:${testApp.config.port}`]));
  return { place, testApp, front };
}
