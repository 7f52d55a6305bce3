import type { AppError } from '../platform/errors.ts';
import type { Render } from '../platform/templates.ts';
import type { Account } from './accounts.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { toScopeWords } from './scope-words.ts';

/** The service's pages, each as HTML. */
export interface Pages {
  /** Says what this is. */
  home(): string;
  /** `refusedUser` is the user name of an attempt that failed, to be shown again. */
  signIn(formToken: string, refusedUser?: string): string;
  consent(formToken: string, account: Account, request: AuthorizationRequest): string;
  /** For a request that names no place that could be redirected to. */
  untrusted(detail: string): string;
  /** For a form that can't be taken; `here` is the address that shows it anew. */
  staleForm(here: string): string;
  /** `here` is the address to try again, where that may help. */
  failure(error: AppError, requestId: string, here?: string): string;
}

/** Pages that speak of the registered app. */
export function createPages(
  render: Render,
  { clientId, faults }: { readonly clientId: string; readonly faults: boolean },
): Pages {
  return {
    home: () => render('local-service/home', { title: 'The local service', clientId, faults }),
    signIn: (formToken, refusedUser) =>
      render('local-service/sign-in', {
        title: 'Sign in',
        clientId,
        formToken,
        refused: refusedUser !== undefined,
        user: refusedUser ?? '',
      }),
    consent: (formToken, account, request) =>
      render('local-service/consent', {
        title: `Allow ${clientId}?`,
        clientId,
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
    failure: ({ title, detail }, requestId, here) =>
      render('local-service/error', {
        title,
        ...(detail !== title && { detail }),
        ...(here !== undefined && { way: { href: here, label: 'Try again' } }),
        requestId,
      }),
  };
}
