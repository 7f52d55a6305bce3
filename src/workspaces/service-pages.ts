import { z } from 'zod';
import { toServiceAnswerError, toUnreadableAnswer } from './service-errors.ts';
import type { AskService, ServiceSource } from './api-client.ts';

/** A page of a list as the service gave it; the items are anything at all. */
export interface ServicePage {
  readonly items: readonly unknown[];
  /** Asks for the following page; absent on the last one. */
  readonly next?: string;
  /** The whole answer as it came: JSON text of an object with the items under `value`. */
  readonly text: string;
}

/** A list of the service, and on whose behalf it is read. */
export interface ListSource extends ServiceSource {
  /** Goes with every `next`: the service binds its tokens to it. */
  readonly limit: number;
}

/**
 * Asks for the page that `next` stands for, or for the first. Rejects with an AppError fit for a page, with what the
 * token keeper rejects with, or with the signal's reason once that is aborted.
 */
export type AskPage = (next: string | undefined) => Promise<ServicePage>;

/** It must fit into the head of a request again, beside everything else. */
const MAX_NEXT_CHARACTERS = 8_192;

/** A hundred times what was asked for: to go through more would hold everybody else up. */
const MOST_ITEMS = 10_000;

const envelopeSchema = z.object({
  // Not an array of unknown: to copy what is not looked at costs as much as to read it.
  value: z.custom<readonly unknown[]>((value) => Array.isArray(value) && value.length <= MOST_ITEMS),
  // Half a surrogate pair has no place in an address.
  next: z
    .string()
    .min(1)
    .max(MAX_NEXT_CHARACTERS)
    .regex(/^\P{Cs}+$/u)
    .optional(),
});

/**
 * Reads single pages of lists, one call each (service interface, section 4.5); who wants more of a list walks
 * (`paging.ts`, `exports/all-items.ts`). `now` is in ms since the epoch.
 */
export function createServicePages(
  askService: AskService,
  now: () => number,
): (source: ListSource) => AskPage {
  return (source) => {
    const ask = askService(source);

    return async (next) => {
      const more = next === undefined ? '' : `&next=${encodeURIComponent(next)}`;
      const { status, headers, body } = await ask(`limit=${source.limit}${more}`);
      if (status !== 200) throw toServiceAnswerError(status, headers, now());
      return toServicePage(body);
    };
  };
}

function toServicePage(body: Buffer | null): ServicePage {
  if (body === null) throw toUnreadableAnswer('the answer is too large for a page');
  const text = readText(body);
  const envelope = envelopeSchema.safeParse(parseJson(text));
  if (!envelope.success) throw toUnreadableAnswer('the answer is no page of a list', envelope.error);
  const { value, next } = envelope.data;
  return { items: value, ...(next !== undefined && { next }), text };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Other bytes than UTF-8 are no JSON (RFC 8259 §8.1): to put something else in their place would change the items. */
function readText(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw toUnreadableAnswer('the answer is no JSON');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of a SyntaxError quotes the text, which is the user's own.
    throw toUnreadableAnswer('the answer is no JSON');
  }
}
