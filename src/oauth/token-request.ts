import { Client, buildConnector } from 'undici';
import type { CustomFetchOptions } from 'openid-client';

/** No token response is larger. A hostile one must not fill the memory. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** The token endpoint's response can't be used. The message quotes nothing of it. */
export class MalformedAnswerError extends Error {
  override readonly name = 'MalformedAnswerError';
}

/** The request was not written: its caller no longer wants it to be. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

interface TokenResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends one request to the token endpoint. Asks `maySend` once the connection is open, just before the request is written.
 * Rejects with NotSentError, MalformedAnswerError, the reason of `signal`, or an undici error.
 */
export type SendTokenRequest = (
  url: string,
  request: CustomFetchOptions,
  maySend?: () => boolean,
) => Promise<TokenResponse>;

/**
 * Returns a function that sends each token request on a connection of its own (docs/decisions/0043): a response that is
 * late or doubled can't be taken for that of the next user. It follows no redirect and decodes no content coding.
 */
export function createTokenRequest(timeoutMs: number): SendTokenRequest {
  const connect = buildConnector({ timeout: timeoutMs });
  return async (url, { method, headers, body, signal }, maySend = () => true) => {
    const { origin, pathname, search } = new URL(url);
    const client = new Client(origin, {
      connect(options, done) {
        connect(options, (...result) => {
          const [, socket] = result;
          if (socket === null || maySend()) {
            done(...result);
            return;
          }
          socket.destroy();
          done(new NotSentError('the token request was not sent'), null);
        });
      },
      pipelining: 0, // `Connection: close`
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    try {
      const response = await client.request({
        path: pathname + search,
        method,
        headers,
        body: toText(body),
        signal: signal ?? null,
        // undici never pauses its parser below this size. It throws where nobody can catch it when a connection ends
        // beside a paused parser (nodejs/undici#5360).
        highWaterMark: 2 * MAX_RESPONSE_BYTES,
      });
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        bytes += chunk.byteLength;
        if (bytes > MAX_RESPONSE_BYTES)
          throw new MalformedAnswerError('the token endpoint’s answer is too large');
        chunks.push(chunk);
      }
      // TextDecoder removes a byte order mark.
      return { status: response.statusCode, text: new TextDecoder().decode(Buffer.concat(chunks)) };
    } finally {
      await client.destroy();
    }
  };
}

function toText(body: CustomFetchOptions['body']): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('a token request has a form body');
}
