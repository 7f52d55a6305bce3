import type { IncomingMessage, ServerResponse } from 'node:http';

/** How orchestrators and balancers ask, each of them every few seconds. */
const PROBE = /^\/(?:healthz|readyz)(?=\?|$)/;
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD']);

/** A request that has ended. */
interface Ended {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: string;
}

/**
 * Tells which requests say nothing new: probes that went well, as the one before them did. Of each address the first
 * is news, at the start of the process and after every one that went otherwise.
 */
export function createProbeWatch(): (request: Ended) => boolean {
  const isWell = new Set<string>();
  return ({ req, res, target }) => {
    const [probe] = PROBE.exec(target) ?? [];
    if (probe === undefined || !METHODS.has(req.method)) return false;
    const wentWell = res.statusCode === 200 && res.writableFinished;
    const saysNothingNew = wentWell && isWell.has(probe);
    if (wentWell) isWell.add(probe);
    else isWell.delete(probe);
    return saysNothingNew;
  };
}
