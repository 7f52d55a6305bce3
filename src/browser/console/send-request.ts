/** Sends a composed request and reads the response, up to a limit. */
import { headersOf } from './copy-as.ts';
import { toUrl, type ComposedRequest } from './request-rules.ts';

export interface ReceivedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The part that was read. */
  readonly body: Blob;
  /** How the body ended. */
  readonly end: 'complete' | 'interrupted' | 'cancelled' | 'too-large';
  readonly totalMs: number;
}

export type Outcome = ReceivedResponse | 'redirect' | 'cancelled' | 'offline' | 'unreachable';

/** Maximum number of body bytes that the console reads. */
export const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Sends the request and never rejects. Bypasses the browser cache. Does not follow redirects, so that the request goes only to
 * the gateway.
 * @param request A request for which `validateRequest` finds no blocking issue.
 */
export async function sendRequest(
  request: ComposedRequest,
  {
    origin,
    signal,
    onProgress,
  }: {
    readonly origin: string;
    /** Cancels the request. The bytes read so far are kept. */ readonly signal: AbortSignal;
    /** Called with the number of bytes read so far. */ readonly onProgress: (bytes: number) => void;
  },
): Promise<Outcome> {
  const sentAt = performance.now();
  let response: Response;
  try {
    response = await fetch(toUrl(request, origin) ?? origin, {
      method: request.method,
      headers: headersOf(request).map(([name, value]) => [name, value]),
      ...(request.body !== '' && { body: request.body }),
      redirect: 'manual',
      cache: 'no-store',
      credentials: 'same-origin',
      signal,
    });
  } catch {
    if (signal.aborted) return 'cancelled';
    return navigator.onLine ? 'unreachable' : 'offline';
  }
  if (response.type === 'opaqueredirect') return 'redirect';
  const { chunks, end } = await readBody(response, signal, onProgress);
  const totalMs = performance.now() - sentAt;
  const { status, statusText, headers } = response;
  return { status, statusText, headers, body: new Blob(chunks), end, totalMs };
}

async function readBody(
  response: Response,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<{ chunks: Uint8Array<ArrayBuffer>[]; end: ReceivedResponse['end'] }> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  if (response.body === null) return { chunks, end: 'complete' };
  const reader = response.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { chunks, end: 'complete' };
      if (bytes + value.length > MAX_BYTES) {
        await reader.cancel();
        return { chunks, end: 'too-large' };
      }
      chunks.push(value);
      bytes += value.length;
      onProgress(bytes);
    }
  } catch {
    return { chunks, end: signal.aborted ? 'cancelled' : 'interrupted' };
  }
}
