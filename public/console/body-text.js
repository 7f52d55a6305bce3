/** What a body is, and the part of it that is shown. */
import { counted } from '../counts.js';
import { layOutJson } from './json-text.js';

/** @typedef {import('./json-text.js').Mark} Mark */

/**
 * @typedef {object} ShownBody
 * @property {'none' | 'json' | 'text' | 'binary'} kind
 * @property {string} text What is shown of it; empty where that is nothing.
 * @property {readonly Mark[]} marks
 * @property {readonly string[]} notes What to know about it.
 * @property {unknown} json Its value, where it is whole JSON that is not too large to look into.
 */

/** So much of a body is shown. */
export const SHOWN_BYTES = 200_000;
/** A larger one is not looked into: that would take seconds. */
const LARGEST_READ = 8_000_000;

const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:javascript|ecmascript|xml|x-www-form-urlencoded|x-ndjson|yaml|sql|graphql)|.*\+(?:xml|yaml))$/;
const JSON_TYPE = /^(?:application|text)\/(?:.+\+)?json$/;

/**
 * @param {Blob} body
 * @param {string} contentType Of its header; empty where there was none.
 * @returns {Promise<ShownBody>}
 */
export async function toShownBody(body, contentType) {
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
      ? [`It is not valid ${decoder.encoding.toUpperCase()}: what can’t be read is shown as �.`]
      : [];
  const shown = text ?? decoder.decode(start, { stream: !isWhole });
  const read = isJson ? await readJson(body, decoder.encoding) : { isJson: false, json: undefined };
  if (!read.isJson) {
    if (isJson) notes.push('It says that it is JSON, but it is not: shown as it came.');
    return {
      kind: 'text',
      text: shown,
      marks: [],
      notes: [...notes, ...cutNotes(!isWhole, body.size)],
      json: undefined,
    };
  }
  const laidOut = layOutJson(shown, SHOWN_BYTES);
  if (body.size > LARGEST_READ) notes.push('It is too large to look for next in it.');
  return {
    kind: 'json',
    text: laidOut.text,
    marks: laidOut.marks,
    notes: [...notes, ...cutNotes(!isWhole || laidOut.isCut, body.size)],
    json: read.json,
  };
}

/**
 * @param {string} contentType
 * @returns {boolean} Whether it says so; the body may be anything.
 */
export function isJsonType(contentType) {
  return JSON_TYPE.test(toMediaType(contentType));
}

/** @param {string} contentType */
function toMediaType(contentType) {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * @param {boolean} isCut
 * @param {number} bytes
 */
function cutNotes(isCut, bytes) {
  return isCut ? [`Only its beginning is shown. Copy or save all ${counted(bytes, 'byte')}.`] : [];
}

/** @param {string} contentType */
function decoderFor(contentType) {
  const charset = /;\s*charset="?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/**
 * Null where the bytes are none of this encoding. A last character that is cut in half is no fault.
 * @param {Uint8Array} bytes
 * @param {string} encoding
 * @param {boolean} isWhole
 */
function decodeStrictly(bytes, encoding, isWhole) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return null;
  }
}

/**
 * One that is too large to look into is taken at its word.
 * @param {Blob} body
 * @param {string} encoding
 * @returns {Promise<{ isJson: boolean, json: unknown }>}
 */
async function readJson(body, encoding) {
  if (body.size > LARGEST_READ) return { isJson: true, json: undefined };
  try {
    return { isJson: true, json: JSON.parse(new TextDecoder(encoding).decode(await body.arrayBuffer())) };
  } catch {
    return { isJson: false, json: undefined };
  }
}
