import { fastifyCookie } from '@fastify/cookie';
import { fastifyHttpProxy } from '@fastify/http-proxy';
import { fastifySession } from '@fastify/session';
import { RedisStore } from 'connect-redis';
import { fastify } from 'fastify';
import { createClient } from 'redis';
import { reportPort, settings } from './peer.mjs';

/** @typedef {import('fastify').FastifyRequest} FastifyRequest */

/** fastify, @fastify/session and @fastify/http-proxy. Sessions are `rolling` by default, so each request extends its session. */

const client = await createClient({ url: settings['redis'] ?? '' }).connect();

const app = fastify();
await app.register(fastifyCookie);
await app.register(fastifySession, {
  store: new RedisStore({ client, prefix: 'fastify:' }),
  secret: 'a secret for this benchmark, long enough for fastify',
  saveUninitialized: false,
  cookie: { httpOnly: true, sameSite: 'lax', secure: false },
});
app.get('/sign-in', async (request, reply) => {
  const { grant } = /** @type {{ grant: string }} */ (request.query);
  request.session.grant = /** @type {{ accessToken: string }} */ (JSON.parse(grant));
  return reply.code(204).send();
});

/** @type {(request: FastifyRequest, reply: import('fastify').FastifyReply) => Promise<unknown>} */
const requireSession = async (request, reply) => {
  if (request.session.grant === undefined) await reply.code(401).send();
};
/** @type {(request: FastifyRequest, headers: Record<string, string>) => Record<string, string>} */
const withToken = ({ session: { grant } }, headers) => {
  const { cookie: _cookie, ...sent } = headers;
  return { ...sent, authorization: `Bearer ${grant?.accessToken}` };
};
await app.register(fastifyHttpProxy, {
  upstream: settings['upstream'] ?? '',
  prefix: '/api',
  rewritePrefix: '/api',
  undici: { connections: 128 },
  preHandler: requireSession,
  replyOptions: { rewriteRequestHeaders: withToken },
});
await app.listen({ host: '127.0.0.1', port: 0 });
reportPort(app.addresses()[0]?.port ?? 0);
