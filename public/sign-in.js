/** The way to sign in, and back. */

/** The session has ended, or there never was one: nothing helps but to sign in. */
export class SignInNeeded extends Error {}

/** The address that begins sign-in and comes back to just this page, its fragment included. */
export function signInAddress() {
  const { pathname, search, hash } = location;
  return `/auth/login?return_to=${encodeURIComponent(pathname + search + hash)}`;
}

/** Leaves the page for it. */
export function goToSignIn() {
  location.assign(signInAddress());
}
