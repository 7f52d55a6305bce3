/** Decides how to show a body and how much of it to show. */
import { formatCount } from '../counts.ts';
import { formatJson, type Mark } from './json-text.ts';

export interface ShownBody {
  readonly kind: 'none' | 'json' | 'text' | 'binary';
  /** The part to show. Empty if there is no body or the body is binary. */
  readonly text: string;
  readonly marks: readonly Mark[];
  /** Sentences for the user. */
  readonly notes: readonly string[];
  /** The parsed body, if it is valid JSON and not too large to parse. */
  readonly json: unknown;
}

/** Maximum number of body bytes that the console shows. */
export const SHOWN_BYTES = 200_000;
/** Maximum length of a body that the console parses. Parsing a longer body would take seconds. */
const MAX_PARSED_BYTES = 8_000_000;

const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:javascript|ecmascript|xml|x-www-form-urlencoded|x-ndjson|yaml|sql|graphql)|.*\+(?:xml|yaml))$/;
const JSON_TYPE = /^(?:application|text)\/(?:.+\+)?json$/;

/** @param contentType Empty for a response without the header. */
export async function toShownBody(body: Blob, contentType: string): Promise<ShownBody> {
  if (body.size === 0) return { kind: 'none', text: '', marks: [], notes: [], json: undefined };
  const start = new Uint8Array(await body.slice(0, SHOWN_BYTES).arrayBuffer());
  const type = toMediaType(contentType);
  const isJson = isJsonType(contentType);
  const decoder = decoderFor(contentType);
  const isWhole = body.size <= SHOWN_BYTES;
  const text = decodeStrictly(start, decoder.encoding, isWhole);
  if (!isJson && !TEXT_TYPE.test(type) && (text === null || text.includes('\0')))
    return { kind: 'binary', text: '', marks: [], notes: [], json: undefined };

  const notes =
    text === null
      ? [`The body is not valid ${decoder.encoding.toUpperCase()}. Invalid bytes are shown as �.`]
      : [];
  const shown = text ?? decoder.decode(start, { stream: !isWhole });
  const parsed = isJson ? await parseJson(body, decoder.encoding) : { isJson: false, json: undefined };
  if (!parsed.isJson) {
    if (isJson)
      notes.push('The content type is JSON, but the body is not valid JSON, so it is shown as received.');
    return {
      kind: 'text',
      text: shown,
      marks: [],
      notes: [...notes, ...cutNotes(!isWhole, body.size)],
      json: undefined,
    };
  }
  const formatted = formatJson(shown, SHOWN_BYTES);
  if (body.size > MAX_PARSED_BYTES) notes.push('The body is too large to check for a next page.');
  return {
    kind: 'json',
    text: formatted.text,
    marks: formatted.marks,
    notes: [...notes, ...cutNotes(!isWhole || formatted.isCut, body.size)],
    json: parsed.json,
  };
}

/** @returns Whether the media type is JSON. */
export function isJsonType(contentType: string): boolean {
  return JSON_TYPE.test(toMediaType(contentType));
}

function toMediaType(contentType: string) {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function cutNotes(isCut: boolean, bytes: number) {
  return isCut
    ? [`Only the beginning is shown. Copy or save the body to get all ${formatCount(bytes, 'byte')}.`]
    : [];
}

function decoderFor(contentType: string) {
  const charset = /;\s*charset="?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/**
 * Decodes bytes or returns null if any byte is invalid in this encoding. If `isWhole` is false, the last character may be
 * incomplete.
 */
function decodeStrictly(bytes: Uint8Array, encoding: string, isWhole: boolean) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return null;
  }
}

/** Parses a body as JSON. If the body is too large to parse, trusts the content type. */
async function parseJson(body: Blob, encoding: string): Promise<{ isJson: boolean; json: unknown }> {
  if (body.size > MAX_PARSED_BYTES) return { isJson: true, json: undefined };
  try {
    return { isJson: true, json: JSON.parse(new TextDecoder(encoding).decode(await body.arrayBuffer())) };
  } catch {
    return { isJson: false, json: undefined };
  }
}
