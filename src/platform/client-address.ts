import type { IncomingMessage } from 'node:http';

/**
 * Who asks: the peer of the connection, or, behind `proxies` reverse proxies of ours, the address that the outermost
 * of them has seen. Each adds its peer at the end of `X-Forwarded-For`; what stands before ours, anyone can write.
 */
export function clientAddress(req: IncomingMessage, proxies: number): string {
  const peer = req.socket.remoteAddress ?? '';
  if (proxies === 0) return peer === '' ? UNKNOWN : peer;
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',');
  const seen = forwarded.map((address) => address.trim()).filter((address) => address !== '');
  const hops = [peer, ...seen.toReversed()];
  const address = hops[Math.min(proxies, hops.length - 1)] ?? '';
  return /^[\da-fA-F.:]{2,45}$/.test(address) ? address : UNKNOWN;
}

const UNKNOWN = 'unknown';
