import { Failure, failureOf } from '../network-errors.ts';

/** What came back; the text cut at 64 KiB. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Milliseconds since the epoch: before it was asked, and when its head was there. */
  readonly askedAt: number;
  readonly toldAt: number;
}

const WITHIN_MS = 5_000;
const MOST_BYTES = 65_536;

/** Asks once, follows no redirect, waits for 5 s. Rejects with a Failure. To have its name looked up first is up to the caller. */
export async function ask(
  url: string,
  now: () => number,
  form?: Readonly<Record<string, string>>,
): Promise<Answer> {
  const askedAt = now();
  try {
    const answer = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(WITHIN_MS),
      headers: { 'user-agent': 'cloakroom-doctor', accept: form ? 'application/json' : 'text/html' },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    const toldAt = now();
    return { status: answer.status, headers: answer.headers, text: await readSome(answer), askedAt, toldAt };
  } catch (error) {
    throw failureOf(error) ?? new Failure('can’t be asked', 'Check its address, and that it runs.');
  }
}

async function readSome(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) break; // leaving the loop cancels the rest
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}
