import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** A content coding (RFC 9110 §8.4.1). */
export type ContentCoding = 'br' | 'gzip';

// The default quality takes 100 ms for a page. The window of 256 KiB bounds the memory of a stream.
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 18 },
};

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);
const compress = {
  br: async (text: string) => toBrotli(text, BROTLI),
  gzip: async (text: string) => toGzip(text),
};

/** Creates a stream that compresses an export. */
export const createCompressor = (coding: ContentCoding) =>
  coding === 'br' ? createBrotliCompress(BROTLI) : createGzip();

/** Matches query parameters that give an attacker no choice of text: numbers, and a place in a list (`back`). */
const WITHOUT_TEXT = /^(?:(?:limit|page)=\d*|back=(?:limit=\d+&page=\d+)?)$/;

/**
 * Returns the coding for a response, and adds `Vary`. Returns undefined if the client accepts neither coding, and for a URL with text in
 * its query. The response may repeat that text, and the length of a compressed response would tell a person on the network whether the
 * text also occurs elsewhere in the response (BREACH).
 */
export function contentCoding(req: Request, res: Response): ContentCoding | undefined {
  res.vary('Accept-Encoding');
  const hasText = Object.entries(req.query).some(
    ([name, value]) => typeof value !== 'string' || !WITHOUT_TEXT.test(`${name}=${value}`),
  );
  if (hasText) return undefined;
  return (['br', 'gzip'] as const).find((coding) => req.acceptsEncodings(coding) !== false);
}

/** Sends a page, compressed if possible. A page must not contain a secret (docs/security.md). */
export async function sendPage(req: Request, res: Response, html: string): Promise<void> {
  const coding = contentCoding(req, res);
  res.type('html');
  if (coding === undefined) res.send(html);
  else res.set('content-encoding', coding).send(await compress[coding](html));
}
