/** Sign-in from a page, and the way back to it. */

/** The error of a page that needs a new sign-in. */
export class SignInRequired extends Error {}

/** The URL that begins sign-in and returns to this page, its fragment included. */
export function signInUrl() {
  const { pathname, search, hash } = location;
  return `/auth/login?return_to=${encodeURIComponent(pathname + search + hash)}`;
}

export function goToSignIn() {
  location.assign(signInUrl());
}
