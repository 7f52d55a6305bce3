import { Provider } from 'oidc-provider';
import { freePort } from '../support/free-port.mjs';
import { CLIENT } from './openid-client.mjs';

/** Runs oidc-provider with its development forms, which accept any user. Sends each access token and its user to the benchmark. */

const port = await freePort();
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [CLIENT.redirectUri] }],
  cookies: { keys: ['a key for this benchmark'] },
  ttl: { AccessToken: 14_400, Grant: 14_400, IdToken: 14_400, Interaction: 600, Session: 14_400 },
});
provider.on('access_token.saved', ({ accountId, jti }) => process.send?.({ accountId, accessToken: jti }));
provider.listen(port, '127.0.0.1', () => process.send?.({ issuer }));
