import { sameSecret } from './secrets.ts';

/** Someone who can sign in here. */
export interface Account {
  /** Also the user name. */
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** Passwords as they are: the accounts of a service that runs on the developer's own machine are no secret. */
const ACCOUNTS: readonly (Account & { readonly password: string })[] = [
  { id: 'demo', password: 'demo', firstName: 'Robin', lastName: 'Vesterholt' },
  { id: 'guest', password: 'guest', firstName: 'Inês', lastName: 'Tavares' },
];

/** The account that these credentials open. */
export function findAccount(userName: string, password: string): Account | undefined {
  const account = ACCOUNTS.find(({ id }) => id === userName);
  return account !== undefined && sameSecret(password, account.password) ? account : undefined;
}

/** The account with this id. */
export function accountOf(id: string): Account | undefined {
  return ACCOUNTS.find((account) => account.id === id);
}
