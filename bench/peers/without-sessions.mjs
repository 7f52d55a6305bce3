import { fromDist } from '../support/compiled.mjs';
import { reportPort, settings } from './peer.mjs';

/** Cloakroom with the gateway only: every cookie is accepted and belongs to the same session, which is never read from Redis. */

const { loadConfig } = /** @type {typeof import('../../src/config/load.ts')} */ (
  await fromDist('config/load.js')
);
const { bindPort } = /** @type {typeof import('../../src/http/listening.ts')} */ (
  await fromDist('http/listening.js')
);
const { createLog } = /** @type {typeof import('../../src/observability/logger.ts')} */ (
  await fromDist('observability/logger.js')
);
const { startServer } = /** @type {typeof import('../../src/server.ts')} */ (await fromDist('server.js'));
const { createServices } = /** @type {typeof import('../../src/services.ts')} */ (
  await fromDist('services.js')
);

const config = loadConfig(/** @type {NodeJS.ProcessEnv} */ (JSON.parse(settings['env'] ?? '')));
const services = createServices(config, createLog('warn'));
const session = {
  id: 'bench',
  encrypted: '',
  record: {
    createdAt: Date.now(),
    grant: /** @type {import('../../src/session/record.ts').Grant} */ (JSON.parse(settings['grant'] ?? '')),
  },
};
const bound = await bindPort('127.0.0.1', 0);
await startServer(
  {
    ...services,
    cookie: { ...services.cookie, read: (header = '') => ({ id: header, usesFirstKey: true }) },
    store: { ...services.store, read: async () => session },
  },
  bound,
);
reportPort(bound.port);
