import { API_PATH } from '../support/constants.ts';
import { exchangeBytes } from '../support/raw-client.ts';
import type { TestApp } from '../support/test-app.ts';

export interface RequestText {
  readonly method?: string;
  readonly target?: string;
  readonly cookie?: string;
  /** Additional header lines, byte for byte. */
  readonly fields?: readonly string[];
  /** The bytes after the request head. */
  readonly rest?: string;
}

/** Returns the text of a request, with `Connection: close` unless `fields` contains a `Connection` header. */
export function requestText({
  method = 'GET',
  target = API_PATH,
  cookie,
  fields = [],
  rest = '',
}: RequestText): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', 'X-Requested-With: test'];
  if (cookie !== undefined) lines.push(`Cookie: ${cookie}`);
  lines.push(...fields);
  if (!fields.some((line) => /^connection:/i.test(line))) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n${rest}`;
}

/** Sends a request as Latin-1 over a new connection. Resolves with all bytes received. */
export async function send(testApp: TestApp, request: RequestText | string): Promise<string> {
  const text = typeof request === 'string' ? request : requestText(request);
  return (await exchangeBytes(testApp.config.port, Buffer.from(text, 'latin1'))).toString('latin1');
}

/** Sends a request over a new connection. Resolves with the status of each response. */
export async function statusesTo(testApp: TestApp, request: RequestText | string): Promise<number[]> {
  return statusesOf(await send(testApp, request));
}

export function statusesOf(responses: string): number[] {
  return [...responses.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
