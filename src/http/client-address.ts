import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

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
  const address = withoutPort(hops[Math.min(proxies, hops.length - 1)] ?? '');
  return isIP(address) === 0 ? UNKNOWN : address;
}

/** Some proxies add the port, which is another one with each connection: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
function withoutPort(address: string): string {
  const { v4, v6 } = /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\]]+)\](?::\d+)?)$/.exec(address)?.groups ?? {};
  return v4 ?? v6 ?? address;
}

const UNKNOWN = 'unknown';
