import type { Render } from '../http/templates.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Account } from './browser-sign-in.ts';
import type { LocalServiceConfig } from './config.ts';
import type { ServiceError } from './error-responses.ts';

export type Pages = ReturnType<typeof createPages>;

/** Renders the service's pages as HTML. `address` is the URL that receives the form on a page, or that shows the form again. */
export function createPages(
  render: Render,
  { clientId, compat, faults }: Pick<LocalServiceConfig, 'clientId' | 'compat' | 'faults'>,
) {
  return {
    home: () => render('local-service/home', { title: 'The local service', clientId, compat, faults }),
    /** `refusedUser` is the user name to show again after a failed attempt. */
    signIn: (address: string, formToken: string, refusedUser?: string) =>
      render('local-service/sign-in', {
        title: 'Sign in',
        clientId,
        address,
        formToken,
        refused: refusedUser !== undefined,
        user: refusedUser ?? '',
      }),
    consent: (address: string, formToken: string, account: Account, request: AuthorizationRequest) =>
      render('local-service/consent', {
        title: `Allow ${clientId}?`,
        clientId,
        address,
        formToken,
        name: `${account.firstName} ${account.lastName}`,
        user: account.id,
        initials: `${account.firstName.charAt(0)}${account.lastName.charAt(0)}`,
        scopes: request.scopes.map((scope) => ({ scope, words: toWords(scope) })),
        returnsTo: new URL(request.redirectUri).host,
      }),
    /** Shown if the redirect URI in a request can't be trusted. */
    untrusted: (detail: string) =>
      render('local-service/error', {
        title: 'The app sent an invalid request',
        detail,
        hint: 'You were not returned to the app, because the return address can’t be trusted.',
      }),
    staleForm: (address: string) =>
      render('local-service/error', {
        title: 'This form has expired',
        detail: 'The form belongs to another sign-in, or your browser blocks cookies from this service.',
        link: { href: address, label: 'Start again' },
      }),
    /** Shown if a submitted form has no `step` field, or several. */
    noChoice: (address: string) =>
      render('local-service/error', {
        title: 'Nothing was chosen',
        detail: 'Return to the form and choose one option.',
        link: { href: address, label: 'Return to the form' },
      }),
    /** `retryAt` is the URL to retry, if a retry may help. */
    failure: ({ title, detail }: ServiceError, requestId: string, retryAt?: string) =>
      render('local-service/error', {
        title,
        ...(detail !== title && { detail }),
        link:
          retryAt === undefined
            ? { href: '/', label: 'Go to the home page' }
            : { href: retryAt, label: 'Try again' },
        requestId,
      }),
  };
}

/** Resources whose names are singular in scopes. Some scopes of the public service use the plural. */
const SINGULAR = new Set(['workspace', 'room', 'mural', 'template', 'user']);

/** Describes what a scope of the form `resource:read` or `resource:write` allows. */
function toWords(scope: string): string {
  const [resource = '', permission = ''] = scope.split(':');
  const name = resource.toLowerCase().replaceAll(/[-_.]/g, ' ');
  const things = SINGULAR.has(name) ? `${name}s` : name;
  return permission === 'write' ? `Create, change and delete your ${things}` : `See your ${things}`;
}
