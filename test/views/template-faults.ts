/**
 * What could let data out of a template as more than text: a line for each fault. Templates are read as Eta does (`<%~`
 * prints as it is, `<%=` escapes, anything else only runs), then as HTML with a mark where a value is printed.
 */
export function templateFaults(name: string, template: string): string[] {
  const tags = [...template.matchAll(/<%([-_]?)\s*([~=]?)(.*?)[-_]?%>/gs)];
  const code = tags.map(([, , kind = '', text = '']) => ({ kind, text: text.trim() }));
  const html = template
    .replaceAll(ASSET, `${ADDRESS}$1`)
    .replaceAll(/<%[-_]?\s*([~=]?).*?%>/gs, (_tag, kind: string) => (kind === '' ? '' : PRINTED));
  return [
    ...code.flatMap(({ kind, text }) => (kind === '~' ? rawFaults(name, text) : codeFaults(text))),
    ...markupFaults(html),
  ];
}

/** Stands for a printed value: no character that a template has. */
const PRINTED = '\uE000';

/** The address of a file of ours, printed for what the template itself names: as good as written there. */
const ASSET = /<%=\s*it\.asset\('((?:[\w-]+\/)*[\w-]+\.\w+)'\)\s*%>/g;
const ADDRESS = '\uE001';

/** The one raw print is of what a template of ours made: another template, or in a layout the page. */
function rawFaults(name: string, text: string): string[] {
  const isBody = text === 'it.body' && /(?:^|\/)layout\.eta$/.test(name);
  return isBody || isOneCall(text, 'include') ? codeFaults(text) : [`prints raw: ${text}`];
}

/** Whether it is one call and nothing behind it. */
function isOneCall(text: string, called: string): boolean {
  if (!text.startsWith(`${called}(`)) return false;
  let depth = 0;
  for (let at = called.length; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at === text.length - 1;
  }
  return false;
}

/** Eta's own ways to print without escaping, and to give a layout another body than the page. */
function codeFaults(text: string): string[] {
  const found = /\b(?:__eta|__blocks|output|outputAsync|capture|captureAsync|block|blockAsync)\b/.exec(text);
  const body = /\blayout\([^]*(?:\bbody\b|\.\.\.|,\s*it\s*\))|\binclude\(\s*\S*layout\b/.test(text);
  return [
    ...(found === null ? [] : [`prints past the escaping: ${found[0]}`]),
    ...(body ? [`may give a body to a layout: ${text}`] : []),
  ];
}

const TAG = /<([a-z][^\s/>]*)((?:[^"'>]|"[^"]*"|'[^']*')*)>/gi;
const ATTRIBUTE = /([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?/g;
const OWN_SCRIPT = new RegExp(`^"${ADDRESS}[^"]+\\.js"$`);

function markupFaults(html: string): string[] {
  const faults = [...html.matchAll(TAG)].flatMap(([, element = '', inside = '']) => {
    const attributes = [...inside.matchAll(ATTRIBUTE)].map(
      ([, attribute = '', value = '']) => [attribute.toLowerCase(), value] as const,
    );
    return elementFaults(element.toLowerCase(), new Map(attributes)).concat(
      attributes.flatMap(([attribute, value]) => attributeFaults(element, attribute, value)),
    );
  });
  const script = [...html.matchAll(/<script\b[^>]*>([^]*?)<\/script/gi)].some(
    ([, text = '']) => text.trim() !== '',
  );
  return [
    ...faults,
    ...(script ? ['has an inline script'] : []),
    ...(html.includes(`<${PRINTED}`) || html.includes(`</${PRINTED}`)
      ? ['prints the name of an element']
      : []),
    ...(html.includes('/assets/') ? ['names an asset without its version'] : []),
  ];
}

function elementFaults(element: string, attributes: ReadonlyMap<string, string>): string[] {
  if (element === 'script') {
    const source = attributes.get('src') ?? '';
    return OWN_SCRIPT.test(source) ? [] : [`has a script that is not of ours: ${source}`];
  }
  return ['style', 'iframe', 'object', 'embed', 'base'].includes(element) ? [`has a <${element}>`] : [];
}

function attributeFaults(element: string, attribute: string, value: string): string[] {
  const there = `${attribute} of <${element}>`;
  const quoted = /^["']/.test(value);
  return [
    ...(attribute.includes(PRINTED) ? [`prints the name of an attribute, or a part of it: ${there}`] : []),
    ...(value.includes(PRINTED) && !quoted ? [`prints without quotes: ${there}`] : []),
    ...(/^on|^style$|^srcdoc$/.test(attribute) ? [`has an inline ${there}`] : []),
    ...(/^["']?\s*(?:javascript|data|vbscript):/i.test(value) ? [`has a ${value} as ${there}`] : []),
    ...(/^["']?\s*(?:https?:)?\/\//i.test(value) ? [`asks another site: ${there}`] : []),
  ];
}
