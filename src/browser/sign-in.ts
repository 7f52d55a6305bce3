/** Starts sign-in, which returns to the current page. */

/** A request failed because the user has to sign in again. */
export class SignInRequired extends Error {}

/** Returns the URL that starts sign-in and returns to this page, including its fragment. */
export function signInUrl() {
  const { pathname, search, hash } = location;
  return `/auth/login?return_to=${encodeURIComponent(pathname + search + hash)}`;
}

/** Leaves this page for sign-in. */
export function goToSignIn() {
  location.assign(signInUrl());
}
