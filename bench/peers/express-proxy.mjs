import { Agent } from 'node:http';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { settings } from './peer.mjs';

/**
 * Creates the http-proxy-middleware handler for both Express peers.
 * @param {(req: unknown) => string | undefined} accessTokenOf
 */
export function createProxy(accessTokenOf) {
  return createProxyMiddleware({
    target: `${settings['upstream']}/api`,
    changeOrigin: true,
    agent: new Agent({ keepAlive: true }),
    on: {
      proxyReq(upstreamRequest, req) {
        upstreamRequest.setHeader('authorization', `Bearer ${accessTokenOf(req)}`);
        upstreamRequest.removeHeader('cookie');
      },
    },
  });
}
