/** Returns whether a string contains more than white space, combining marks and invisible characters. */
export function isVisible(text: unknown): text is string {
  return typeof text === 'string' && /[^\p{C}\p{M}\p{Z}]/u.test(text);
}

/** Truncates text longer than `maxLength` UTF-16 code units without splitting a character, and appends an ellipsis. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Returns the singular of an English plural such as `rooms`. Irregular plurals are returned unchanged. */
export function toSingular(plural: string): string {
  return plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.replace(/s$/, '');
}

/** Puts the indefinite article before a noun: `a room`, `an item`. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`;
}

export function capitalise([first = '', ...rest]: string): string {
  return first.toUpperCase() + rest.join('');
}
