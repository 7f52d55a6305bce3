import { z } from 'zod';
import type { AskService, ServiceSource } from './api-client.ts';

/**
 * Begins to read what the service says of a single item, beside something else that a page is waiting for. The function
 * that it gives waits a moment more and resolves to the item, or to null: the interface promises no such call, and a page
 * does without it. Neither ever rejects.
 */
export type ReadItem = (source: ServiceSource) => () => Promise<unknown>;

const WAIT_MORE_MS = 1_000;

const envelopeSchema = z.object({ value: z.record(z.string(), z.unknown()) });

export function createReadItem(askService: AskService): ReadItem {
  return (source) => {
    const enough = new AbortController();
    const signal = AbortSignal.any([source.signal, enough.signal]);
    const item = readItem(askService({ ...source, signal })).catch(() => null);
    return async () => {
      const timer = setTimeout(() => enough.abort(), WAIT_MORE_MS);
      return item.finally(() => clearTimeout(timer));
    };
  };
}

async function readItem(ask: ReturnType<AskService>): Promise<unknown> {
  const { status, body } = await ask('');
  if (status !== 200 || body === null) return null;
  return envelopeSchema.parse(JSON.parse(body.toString('utf8'))).value;
}
