import type { Server } from 'node:http';
import { callApi } from './token-calls.ts';

/** A page of any list. */
export interface AnyPage {
  readonly value: readonly Readonly<Record<string, unknown>>[];
  readonly next?: string;
}

const MOST_PAGES = 500;

/** The pages of a list, from the first to the last, each asked for as the interface says. */
export async function walk(
  server: Server,
  path: string,
  accessToken: string,
  limit?: number,
): Promise<AnyPage[]> {
  const pages: AnyPage[] = [];
  const query = new URLSearchParams(limit === undefined ? {} : { limit: String(limit) });
  while (pages.length < MOST_PAGES) {
    const res = await callApi(server, `${path}?${query.toString()}`, accessToken);
    if (res.status !== 200) throw new Error(`Page ${pages.length + 1}: ${res.status} ${res.text}`);
    const page = res.body as AnyPage;
    pages.push(page);
    if (page.next === undefined) return pages;
    query.set('next', page.next);
  }
  throw new Error('The list has no end.');
}

/** The ids of all items on these pages, in order. */
export function idsOn(pages: readonly AnyPage[]): unknown[] {
  return pages.flatMap((page) => page.value.map((item) => item['id']));
}
