import type { IncomingMessage, ServerResponse } from 'node:http';
import { TOKEN_PATH } from '../constants.ts';
import type { TestService } from './service.ts';

type Outage = (req: IncomingMessage, res: ServerResponse) => void;

const responses =
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
  'breaks off its response': (_req, res) => beginAnswer(res, () => res.destroy()),
  hangs: () => {},
  'hangs in its response': (_req, res) => beginAnswer(res),
  'responds with 500': responses(500, '{"code":"INTERNAL","message":"oops"}'),
  'responds with 502 with HTML': responses(502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' }),
  'responds with 200 with junk': responses(200, '\u0000 no JSON'),
  'responds with 200 without a token': responses(200, '{"expires_in":900}'),
  'responds with 302': responses(302, '', { location: TOKEN_PATH }),
  'responds with 429': responses(429, '{"code":"TOO_MANY_REQUESTS"}'),
  'responds with 429 with Retry-After': responses(429, '', { 'retry-after': '30' }),
  'responds with 400 invalid_request': responses(400, '{"error":"invalid_request"}'),
  'responds with 401 invalid_client': responses(401, '{"error":"invalid_client"}'),
  'responds with 500 server_error': responses(500, '{"error":"server_error"}'),
  'responds with 200 temporarily_unavailable': responses(200, '{"error":"temporarily_unavailable"}'),
};

/** From now on the token endpoint does this to the refreshes of some grants, each by its refresh token. */
export function breakTokenEndpoint(service: TestService, outages: ReadonlyMap<string, Outage>): void {
  service.intercept = (req, res, refreshToken) => {
    const outage = outages.get(refreshToken ?? '');
    outage?.(req, res);
    return outage !== undefined;
  };
}
