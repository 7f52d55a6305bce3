import { invalidPagination } from './page-token.ts';
import type { PageTokens } from './page-token.ts';
import { ServiceError } from './service-errors.ts';

/** The envelope of interface section 2; `next` is absent on the last page. */
interface Page<Item> {
  readonly value: readonly Item[];
  readonly next?: string;
}

/** A list as one user sees it. */
interface List<Item> {
  /** What its `next` tokens are bound to: they work nowhere else. */
  readonly path: string;
  readonly userId: string;
  readonly items: Items<Item>;
  /** Page size where the request names none. */
  readonly defaultLimit: number;
}

/** Items that are made when they are looked at. */
export interface Items<Item> {
  readonly count: number;
  /** `index` from 0 to `count - 1`. */
  at(index: number): Item;
}

/** Cuts the page that the query asks for out of a list, by the rules of interface 4.5. */
export type ReadPage = <Item>(list: List<Item>, query: URLSearchParams) => Promise<Page<Item>>;

const LARGEST_LIMIT = 100;

/**
 * The reader of pages. It rejects with 400 `LIMIT_INVALID`, `PAGINATION_INVALID` or `NEXT_TOKEN_EXPIRED`, and with
 * StoreUnavailableError where Redis is away.
 */
export function createPageReader(tokens: PageTokens): ReadPage {
  return async (list, query) => {
    const limit = toLimit(query);
    const offset = await toOffset(tokens, list, limit, query);
    const end = Math.min(offset + (limit ?? list.defaultLimit), list.items.count);
    const value = Array.from({ length: Math.max(end - offset, 0) }, (_, index) =>
      list.items.at(offset + index),
    );
    if (end >= list.items.count) return { value };
    return {
      value,
      next: await tokens.encrypt({ list: list.path, userId: list.userId, limit, offset: end }),
    };
  };
}

async function toOffset(
  tokens: PageTokens,
  list: List<unknown>,
  limit: number | null,
  query: URLSearchParams,
): Promise<number> {
  const [token, ...more] = query.getAll('next');
  if (token === undefined) return 0;
  if (more.length > 0) throw invalidPagination('next is repeated.');
  const position = await tokens.open(token);
  if (position.list !== list.path || position.userId !== list.userId) {
    throw invalidPagination('The next token belongs to another list.');
  }
  if (position.limit !== limit) {
    throw invalidPagination('limit must be what it was on the first request.');
  }
  return position.offset;
}

function toLimit(query: URLSearchParams): number | null {
  const [text, ...more] = query.getAll('limit');
  if (text === undefined) return null;
  if (more.length > 0 || !/^[1-9]\d{0,2}$/.test(text) || Number(text) > LARGEST_LIMIT) {
    throw new ServiceError(400, 'LIMIT_INVALID', `limit must be a whole number from 1 to ${LARGEST_LIMIT}`);
  }
  return Number(text);
}
