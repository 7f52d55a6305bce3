const TEN_THOUSAND = 10_000;

/** Texts from a hostile service. Injected elements would have `data-hostile`; injected scripts would set `window.pwned`. */
const TEXTS: Readonly<Record<string, string>> = {
  'a script': '<script data-hostile>window.pwned = 1</script>',
  'a broken image': '<img data-hostile src=x onerror="window.pwned = 1">',
  'the end of an attribute': '"><img data-hostile src=x onerror=window.pwned=1>',
  'the end of an attribute in single quotes': "'><img data-hostile src=x onerror=window.pwned=1>",
  'an event handler attribute':
    '" onmouseover="window.pwned = 1" autofocus onfocus="window.pwned = 1" data-hostile="',
  'the end of the title': '</title><script data-hostile>window.pwned = 1</script>',
  'the end of a textarea': '</textarea></script></style></template><svg data-hostile onload=window.pwned=1>',
  'a comment': '<!-- --><b data-hostile><!--',
  'a CDATA section': '<![CDATA[<b data-hostile>]]>',
  'markup in mixed case': '<ScRiPt data-hostile>window.pwned = 1</sCrIpT>',
  'markup in fullwidth characters': '＜script data-hostile＞window.pwned = 1＜/script＞',
  'markup that is already escaped':
    '&lt;script data-hostile&gt;window.pwned = 1&lt;/script&gt; &amp; &#x3c;b&#62;',
  'an Eta tag': '<%= 6 * 7 %><%~ "<b data-hostile>" %><% throw new Error("ran") %>',
  'placeholders of other template engines':
    '${6 * 7} {{constructor.constructor("window.pwned = 1")()}} #{6 * 7} <b data-hostile>',
  quotes: `It's "quoted" ‘so’ “too” \`and\` \\ back`,
  'a formula': '=HYPERLINK("http://127.0.0.1:9/","data-hostile")',
  'a javascript: URL': 'javascript:window.pwned=1//',
  'a disguised javascript: URL': ' \tjava\nscript:window.pwned=1',
  'a data: URL': 'data:text/html,<script>window.pwned=1</script>',
  'a URL on another site': 'https://127.0.0.1:9/a.png?" onerror="window.pwned=1',
  'a URL without a scheme': '//127.0.0.1:9/a.png',
  'Hebrew and Arabic': 'שלום עולם, مرحبا بالعالم 42',
  'a right-to-left override': 'abc\u202Edef\u202E ghi',
  'unclosed isolates and embeddings': '\u2066\u2067\u2068\u202A\u202B\u202Dabc \u2069\u2069\u202C',
  'marks that close the surrounding isolate': 'abc\u2069\u2069\u202C\u202C\u202E def',
  emoji: '👩🏽‍❤️‍💋‍👨🏿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 👨‍👩‍👧‍👦 🇺🇳 1️⃣',
  'zero-width joiners': '\u200D\u200C\u200B\u2060\uFEFFa\u200Db\u00ADc',
  zalgo: `Z${'\u0300\u0301\u0316\u0321\u0338\u0489'.repeat(40)}algo`,
  'ten thousand characters without a space': 'W'.repeat(TEN_THOUSAND),
  'ten thousand characters with spaces': 'word and '
    .repeat(Math.ceil(TEN_THOUSAND / 9))
    .slice(0, TEN_THOUSAND),
  'ten thousand code units of surrogate pairs': '😀'.repeat(TEN_THOUSAND / 2),
  'a thousand lines': 'line\n'.repeat(1_000),
  'control characters': 'a\u0000b\u0001c\u0008d\u001Be\u007Ff\u0080g\u0085h\r\ni\tj',
  'lone surrogates': 'a\uD800b\uDC00c',
  noncharacters: '\uFFFE\uFFFF\uFDD0 \u{1FFFF}',
  'line separators': 'a\u2028b\u2029c',
  'an empty text': '',
  'only whitespace': ' \u00A0\u3000\t\n ',
  __proto__: '__proto__',
  constructor: 'constructor',
  'a path that traverses upwards': '../../auth/logout',
  'a path to another site': '/\\127.0.0.1:9/',
};

/** Other values from a hostile service, as JSON text, which can express values that JavaScript can’t. */
const OTHERS: Readonly<Record<string, string>> = {
  null: 'null',
  true: 'true',
  false: 'false',
  zero: '0',
  'minus zero': '-0',
  'a fraction': '0.1',
  'a number above the range': '1e400',
  'a number below the range': '-1e400',
  'a number that loses digits': '9007199254740993',
  'a time before the epoch': '-62135596800001',
  'a time after the last valid date': '8640000000000001',
  'a time in the year 275760': '8640000000000000',
  'an empty list': '[]',
  'a list with a value of each type': '[1,"<b data-hostile>",null,[[]],{"a":1}]',
  'an empty object': '{}',
  'an object that overrides standard methods':
    '{"toString":1,"valueOf":null,"length":-1,"then":"x","toJSON":"x"}',
  'an object with a prototype':
    '{"__proto__":{"polluted":"<b data-hostile>"},"constructor":{"prototype":{"polluted":1}}}',
  'a deeply nested object': `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  'a deeply nested list': `${'['.repeat(500)}1${']'.repeat(500)}`,
};

/** The hostile texts with their names. */
export const HOSTILE_TEXTS = Object.entries(TEXTS).map(([name, text]) => ({ name, text }));

/** The hostile texts and values of every other type, as JSON. */
const HOSTILE_VALUES = [
  ...Object.values(TEXTS).map((text) => JSON.stringify(text)),
  ...Object.values(OTHERS),
];

/** Fields that the pages know, and one unknown field. */
const FIELDS = `
  id name title description type status state locked suspended confidential favorite createdOn updatedOn createdBy
  sharingSettings thumbnailUrl viewLink trialEnds isMember workspaceId roomId anything
`
  .trim()
  .split(/\s+/);

/** Returns a JSON object with the value `json` in each of `fields`, plus the fields in `rest`. */
function toItem(
  fields: readonly string[],
  json: string,
  rest: Readonly<Record<string, string>> = {},
): string {
  const all = [...Object.entries(rest), ...fields.map((field) => [field, json] as const)];
  return `{${all.map(([field, value]) => `${JSON.stringify(field)}:${value}`).join(',')}}`;
}

/** Returns one JSON item for each hostile value, with that value in every field except those in `safeFields`. */
export function hostileItems(safeFields: Readonly<Record<string, string>> = {}): string[] {
  const fields = FIELDS.filter((field) => !(field in safeFields));
  return HOSTILE_VALUES.map((json) => toItem(fields, json, safeFields));
}

/** Returns JSON items: objects with hostile field names, an object with a thousand fields, and every hostile value. */
export function malformedItems(): string[] {
  const names = Object.values(TEXTS);
  return [
    toItem(names.slice(0, 20), '1'),
    toItem(names.slice(20), '"x"'),
    toItem(
      Array.from({ length: 1_000 }, (_, nth) => `field${nth}`),
      '"x"',
    ),
    ...HOSTILE_VALUES,
  ];
}

/** Returns a list page as JSON. */
export function toList(items: readonly string[]): string {
  return `{"value":[${items.join(',')}]}`;
}
