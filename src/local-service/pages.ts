import type { Render } from '../http/templates.ts';
import type { Account } from './accounts.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { LocalServiceConfig } from './config.ts';
import { toScopeWords } from './scope-words.ts';
import type { ServiceError } from './service-errors.ts';

/** The service's pages, each as HTML. */
export interface Pages {
  /** Says what this is. */
  home(): string;
  /** `here` is where the form goes, `refusedUser` the user name of an attempt that failed, to be shown again. */
  signIn(here: string, formToken: string, refusedUser?: string): string;
  consent(here: string, formToken: string, account: Account, request: AuthorizationRequest): string;
  /** For a request that names no place that could be redirected to. */
  untrusted(detail: string): string;
  /** For a form that can't be taken; `here` is the address that shows it anew. */
  staleForm(here: string): string;
  /** For a form without its button; `here` is the address that shows it anew. */
  noChoice(here: string): string;
  /** `here` is the address to try again, where that may help. */
  failure(error: ServiceError, requestId: string, here?: string): string;
}

/** Pages that speak of the registered app. */
export function createPages(
  render: Render,
  { clientId, compat, faults }: Pick<LocalServiceConfig, 'clientId' | 'compat' | 'faults'>,
): Pages {
  return {
    home: () => render('local-service/home', { title: 'The local service', clientId, compat, faults }),
    signIn: (here, formToken, refusedUser) =>
      render('local-service/sign-in', {
        title: 'Sign in',
        clientId,
        here,
        formToken,
        refused: refusedUser !== undefined,
        user: refusedUser ?? '',
      }),
    consent: (here, formToken, account, request) =>
      render('local-service/consent', {
        title: `Allow ${clientId}?`,
        clientId,
        here,
        formToken,
        name: `${account.firstName} ${account.lastName}`,
        user: account.id,
        initials: `${account.firstName.charAt(0)}${account.lastName.charAt(0)}`,
        scopes: request.scopes.map(toScopeWords),
        returnsTo: new URL(request.redirectUri).host,
      }),
    untrusted: (detail) =>
      render('local-service/error', {
        title: 'The app sent you here with a faulty request',
        detail,
        hint: 'You were not sent back to it: where it wants you to go can’t be trusted.',
      }),
    staleForm: (here) =>
      render('local-service/error', {
        title: 'This form has expired',
        detail: 'It belongs to another sign-in, or your browser keeps no cookies from this service.',
        way: { href: here, label: 'Start again' },
      }),
    noChoice: (here) =>
      render('local-service/error', {
        title: 'Nothing was chosen',
        detail: 'Neither of the buttons came with the form, or both did.',
        way: { href: here, label: 'Choose again' },
      }),
    failure: ({ title, detail }, requestId, here) =>
      render('local-service/error', {
        title,
        ...(detail !== title && { detail }),
        way: here === undefined ? { href: '/', label: 'Front page' } : { href: here, label: 'Try again' },
        requestId,
      }),
  };
}
