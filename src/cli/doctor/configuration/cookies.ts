import { isLoopback } from '../../../config/schema.ts';
import type { Settings } from '../settings.ts';
import { ok, skipped, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** What the session cookie will be, and what that means. */
export function checkCookies({ publicOrigin, values }: Settings): Verdict {
  if (publicOrigin === undefined) return skipped('PUBLIC_URL, or PORT, must be right first.');
  const { protocol, port } = new URL(publicOrigin);
  const strict =
    values.COOKIE_SAMESITE === 'strict'
      ? ' SameSite=Strict: links from other sites arrive signed out at first.'
      : '';
  if (protocol === 'https:') {
    const detail = `Secure, __Host-Http-cloakroom, and browsers are told to keep to https for a year (HSTS).${strict}`;
    if (port === '') return ok(detail);
    return warning(
      `${detail} But cookies don't heed ports: another Cloakroom under this host name would sign its users out.`,
      'Give each Cloakroom a host name of its own.',
    );
  }
  if (isLoopback(publicOrigin)) {
    return ok(
      `Not Secure: for this machine only. One Cloakroom at a time on a host name, whatever its port.${strict}`,
    );
  }
  return warning(
    `Not Secure, and readable on the way: PUBLIC_URL is http.${strict}`,
    'Use https in PUBLIC_URL, with TLS ended by a proxy in front.',
  );
}
