/** The parameters of a form's body or a query, with their repetitions; a `?` at the beginning is part of a name. */
export function toParameters(text: string): URLSearchParams {
  return new URLSearchParams(`?${text}`);
}

/** The first name that occurs more than once, which OAuth forbids (RFC 6749 §3.1, §3.2). */
export function repeatedName(fields: URLSearchParams): string | undefined {
  const seen = new Set<string>();
  for (const name of fields.keys()) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
