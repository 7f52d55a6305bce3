import { isLoopback } from '../../../config/schema.ts';
import type { Settings } from '../settings.ts';
import { ok, skipped, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** Metrics ask nobody who they are. */
export function checkMetrics({ values }: Settings): Verdict {
  const { METRICS_PORT: port, HOST: host } = values;
  if (port === undefined || host === undefined) return skipped('METRICS_PORT and HOST must be right first.');
  if (port === 0) return ok('Off.');
  if (isLoopback(toOrigin(host))) return ok(`On port ${port}, for this machine.`);
  return warning(
    `On port ${port} of HOST, which is not this machine alone: whoever reaches it reads them.`,
    'Let only what collects metrics reach that port: a network policy, a firewall, a port that is not published.',
  );
}

function toOrigin(host: string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}`;
}
