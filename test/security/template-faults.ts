/** Where a template prints something that is not escaped, or has a script or a style of its own: a line for each. */
export function templateFaults(name: string, template: string): string[] {
  return [...rawFaults(name, template), ...inlineFaults(template)];
}

const TAG = /<%[-_]?\s*([~=]?)(.*?)[-_]?%>/gs;
/** What is neither a call nor ends one: a parenthesis in quotes is a text. */
const PLAIN = String.raw`[^()'"\x60]|'[^']*'|"[^"]*"`;
const CALL = String.raw`\((?:${PLAIN})*\)`;
/** One call and nothing behind it, with calls among its arguments and theirs. */
const INCLUDE = new RegExp(String.raw`^include\((?:${PLAIN}|\((?:${PLAIN}|${CALL})*\))*\)$`);
/** Eta's own ways past its escaping, and those to give a layout another body than the page. */
const PAST_ESCAPING =
  /\b(?:__eta|output|capture|block)\b|\blayout\([^]*(?:\bbody\b|\.\.\.|,\s*it\s*\))|\binclude\(\s*\S*layout\b/;

/** The one raw print (`<%~`) is of what a template of ours made: another template, or in the layout the page. */
function rawFaults(name: string, template: string): string[] {
  return [...template.matchAll(TAG)].flatMap(([, kind, code = '']) => {
    const text = code.trim();
    const isOurs = INCLUDE.test(text) || (text === 'it.body' && /(?:^|\/)layout\.eta$/.test(name));
    const isRaw = (kind === '~' && !isOurs) || PAST_ESCAPING.test(text);
    return isRaw ? [`prints raw: ${text}`] : [];
  });
}

/** The address of a file of ours that the template itself names: as good as written there. */
const ASSET = /<%= it\.asset\('[\w/-]+\.\w+'\) %>/g;
const [OWN, PRINTED] = ['\uE000', '\uE001'];
/** The content security policy stops most of these as well; here they can't get as far. */
const INLINE = [
  /<style\b/gi,
  new RegExp(`<script\\b(?![^>]* src="${OWN}")[^>]*>`, 'gi'),
  /<script\b[^>]*>\s*[^<\s]/gi,
  /<(?:applet|base|embed|frame|frameset|iframe|object)\b/gi,
  /<[^>]*["'\s/](?:on\w+|style|srcdoc)\s*=/gi,
  /["'=]\s*(?:data|javascript|vbscript):/gi,
  // What a page loads by itself is a file of ours.
  new RegExp(
    String.raw`(?:<(?:image|link|use)\b[^>]*["'\s/]href|<[^>]*["'\s/](?:poster|src|srcset))\s*=(?!"(?:${OWN}"|/[^/\\${PRINTED}]))`,
    'gi',
  ),
  /\/assets\//g, // names a file without its version
  // In quotes a printed value can only be text; elsewhere in a tag it could be an attribute, or the tag itself.
  new RegExp(`</?(?:[a-z](?:[^"'>]|"[^"]*"|'[^']*')*)?${PRINTED}`, 'gi'),
];

function inlineFaults(template: string): string[] {
  const html = template
    .replaceAll(ASSET, OWN)
    .replaceAll(TAG, (_tag, kind: string) => (kind === '' ? '' : PRINTED));
  return INLINE.flatMap((fault) => [...html.matchAll(fault)].map(([found]) => `has inline: ${found}`));
}
