import type { Ticket } from '../session/record.ts';

export interface TokenKeeper {
  /**
   * A living access token of the session. `refused` is a token that the service has just answered 401 to: it is
   * never given back; the grant is renewed instead, once for all who were refused the same one.
   */
  accessToken(ticket: Ticket, refused?: string): Promise<string>;
}
