import cookie from '@fastify/cookie';
import proxy from '@fastify/http-proxy';
import session from '@fastify/session';
import { RedisStore } from 'connect-redis';
import fastify from 'fastify';
import { createClient } from 'redis';
import { tellPort, world } from './peer.mjs';

/** fastify + its session + @fastify/http-proxy. A session that is not `rolling` would never be extended. */

const client = await createClient({ url: world['redis'] ?? '' }).connect();

const app = fastify();
await app.register(cookie);
await app.register(session, {
  store: new RedisStore({ client, prefix: 'fastify:' }),
  secret: 'a secret of this benchmark, long enough for fastify',
  saveUninitialized: false,
  cookie: { httpOnly: true, sameSite: 'lax', secure: false },
});
app.get('/sign-in', async (request, reply) => {
  const { grant } = /** @type {{ grant: string }} */ (request.query);
  request.session.grant = /** @type {{ accessToken: string }} */ (JSON.parse(grant));
  return reply.code(204).send();
});
await app.register(proxy, {
  upstream: world['upstream'] ?? '',
  prefix: '/api',
  rewritePrefix: '/api',
  undici: { connections: 128 },
  preHandler: async (request, reply) => {
    if (request.session.grant === undefined) return reply.code(401).send();
    return undefined;
  },
  replyOptions: {
    rewriteRequestHeaders: ({ session: { grant } }, { cookie: _, ...headers }) => ({
      ...headers,
      authorization: `Bearer ${grant?.accessToken}`,
    }),
  },
});
await app.listen({ host: '127.0.0.1', port: 0 });
tellPort(app.addresses()[0]?.port ?? 0);
