import type { IncomingMessage, ServerResponse } from 'node:http';
import { TOKEN_PATH } from '../constants.ts';
import type { TestService } from './service.ts';

type Outage = (req: IncomingMessage, res: ServerResponse) => void;

const answers =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Outage =>
  (_req, res) =>
    void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

const beginAnswer = (res: ServerResponse, then?: () => void) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
  res.write('{"access_token":"half of', then);
};

/** What a token endpoint may do that says nothing of the grant: none of it ends a session. */
export const OUTAGES: Readonly<Record<string, Outage>> = {
  'breaks the connection': (req) => void req.socket.destroy(),
  'breaks off its answer': (_req, res) => beginAnswer(res, () => res.destroy()),
  hangs: () => {},
  'hangs in its answer': (_req, res) => beginAnswer(res),
  'answers 500': answers(500, '{"code":"INTERNAL","message":"oops"}'),
  'answers 502 with HTML': answers(502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' }),
  'answers 200 with junk': answers(200, '\u0000 no JSON'),
  'answers 200 without a token': answers(200, '{"expires_in":900}'),
  'answers 302': answers(302, '', { location: TOKEN_PATH }),
  'answers 429': answers(429, '{"code":"TOO_MANY_REQUESTS"}'),
  'answers 429 with Retry-After': answers(429, '', { 'retry-after': '30' }),
  'answers 400 invalid_request': answers(400, '{"error":"invalid_request"}'),
  'answers 401 invalid_client': answers(401, '{"error":"invalid_client"}'),
  'answers 500 server_error': answers(500, '{"error":"server_error"}'),
  'answers 200 temporarily_unavailable': answers(200, '{"error":"temporarily_unavailable"}'),
};

/** From now on the token endpoint does this to the refreshes of some grants, each by its refresh token. */
export function breakTokenEndpoint(service: TestService, outages: ReadonlyMap<string, Outage>): void {
  service.intercept = (req, res, refreshToken) => {
    const outage = outages.get(refreshToken ?? '');
    outage?.(req, res);
    return outage !== undefined;
  };
}
