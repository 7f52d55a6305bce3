/** Whether a text has a visible character: not only white space, marks and invisible ones. */
export function isVisible(text: unknown): text is string {
  return typeof text === 'string' && /[^\p{C}\p{M}\p{Z}]/u.test(text);
}

/** Cuts a text to a number of UTF-16 code units, never inside a character, and adds an ellipsis. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Returns the singular of an English plural such as `rooms`. An irregular plural stays as it is. */
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
