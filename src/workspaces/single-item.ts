import { z } from 'zod';
import type { TokenKeeper } from '../auth/token-keeper.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { ListSource } from './service-pages.ts';

/** An item of the service, and on whose behalf it is read. */
type ItemSource = Omit<ListSource, 'limit'>;

/**
 * Begins to read what the service says of a single item, beside something else that a page is waiting for. The function
 * that it gives waits a moment more and resolves to the item, or to null: the interface promises no such call, and a page
 * does without it. Neither ever rejects.
 */
export type ReadItem = (source: ItemSource) => () => Promise<unknown>;

const WAIT_MORE_MS = 1_000;
const MAX_ANSWER_BYTES = 256 * 1024;

const envelopeSchema = z.object({ value: z.record(z.string(), z.unknown()) });

export function createSingleItems(deps: {
  readonly service: ServiceClient;
  readonly tokens: Pick<TokenKeeper, 'accessToken'>;
}): ReadItem {
  const { service, tokens } = deps;

  const read = async (source: ItemSource, signal: AbortSignal): Promise<unknown> => {
    const token = await tokens.accessToken(source.ticket);
    const { statusCode, body } = await service.request({
      method: 'GET',
      path: source.path,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'x-request-id': source.requestId,
      },
      signal,
    });
    if (statusCode !== 200) {
      await body.dump();
      return null;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return null;
      chunks.push(chunk);
    }
    return envelopeSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8'))).value;
  };

  return (source) => {
    const enough = new AbortController();
    const item = read(source, AbortSignal.any([source.signal, enough.signal])).catch(() => null);
    return async () => {
      const timer = setTimeout(() => enough.abort(), WAIT_MORE_MS);
      return item.finally(() => clearTimeout(timer));
    };
  };
}
