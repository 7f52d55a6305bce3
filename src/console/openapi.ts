import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';

const FILE = new URL('../../public/openapi.json', import.meta.url);
const KEPT = 'public, max-age=300';

/** `GET /openapi.json`: the app's own routes, for everyone. It is about nobody, so it may be kept for a while. */
export function createOpenapi(): RequestHandler {
  const content = readFileSync(FILE); // every answer that waits for its reader holds these very bytes
  return (_req, res) => {
    res.set('cache-control', KEPT).type('json').send(content);
  };
}
