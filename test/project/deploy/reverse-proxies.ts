import { startCaddy } from '../../support/fronts/caddy.ts';
import { startNginx } from '../../support/fronts/nginx.ts';

/** The reverse proxies that end TLS, as deploy/ configures them. */
export const REVERSE_PROXIES = [
  ['nginx', startNginx],
  ['Caddy', startCaddy],
] as const;
