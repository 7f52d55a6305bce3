import { isIP } from 'node:net';
import { z } from 'zod';

/** A whole number in plain decimal digits. */
export function integer(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}, in decimal digits`;
  return z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** Exactly `true` or `false`. */
export function boolean() {
  return oneOf(['true', 'false']).transform((text) => text === 'true');
}

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[]) {
  return z.enum(words, `must be one of: ${words.join(', ')}`);
}

/** Text of one line, as it is; a blank at either end is a slip of the hand. */
export function oneLine() {
  return z
    .string()
    .regex(/^[^\p{Cc}]*$/u, 'must not contain control characters or line breaks')
    .refine((value) => value === value.trim(), 'must not begin or end with a blank');
}

const HOST_NAME = /^(?:[a-z\d_](?:[a-z\d_-]*[a-z\d_])?\.)*[a-z\d_](?:[a-z\d_-]*[a-z\d_])?\.?$/i;

/** A host name, or an IP address without brackets. */
export function host() {
  return z
    .string()
    .refine(
      (value) => isIP(value) !== 0 || (value.length <= 253 && HOST_NAME.test(value)),
      'must be a host name or an IP address (IPv6 without brackets)',
    );
}

/** Comma-separated parts, at least one; blanks around a part don't count. */
export function list() {
  return z.string().transform((value) => value.split(',').map((part) => part.trim()));
}

/** An `http` or `https` origin; normalised, without a trailing slash. */
export function origin() {
  return z.string().transform((value, context) => {
    // The URL parser mends backslashes, blanks and missing slashes: what it would mend is refused here first.
    if (/^https?:\/\/[^\s/?#\\@]+\/?$/i.test(value) && URL.canParse(value)) return new URL(value).origin;
    context.addIssue(
      'must be an origin such as https://app.example.com: http or https, no path, query or user',
    );
    return z.NEVER;
  });
}
