import { describe, expect, jest, test } from '@jest/globals';
import { UnexpectedReplyError, createReplyReader } from '../../../src/redis/getex-replies.ts';
import { fc } from '../../support/properties.ts';

/** A reply as it is heard: a value, null where there is none, or Redis's words. */
type Heard = string | null | typeof DONE | { readonly refused: string };

/** Redis has done what it was told. */
const DONE = Symbol('done');

/** What a reader hears in these pieces, up to the one that it throws at. */
function hear(pieces: readonly Buffer[]): { readonly heard: Heard[]; readonly thrown: unknown } {
  const heard: Heard[] = [];
  const read = createReplyReader({
    onValue: (value) => heard.push(value),
    onStatus: () => heard.push(DONE),
    onRefusal: (refused) => heard.push({ refused }),
  });
  try {
    for (const piece of pieces) read(piece);
  } catch (thrown) {
    return { heard, thrown };
  }
  return { heard, thrown: null };
}

const hearAll = (text: string) => hear([Buffer.from(text, 'latin1')]);

/** How Redis would say it. */
function toReply(one: Heard): string {
  if (one === DONE) return '+OK\r\n';
  if (one === null) return '$-1\r\n';
  return typeof one === 'string' ? `$${one.length}\r\n${one}\r\n` : `-${one.refused}\r\n`;
}

/** Cut in front of each of these bytes. */
function cut(bytes: Buffer, before: readonly number[]): Buffer[] {
  const ends = [...before.toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

describe('what Redis says', () => {
  test.each<[what: string, reply: string, heard: Heard]>([
    ['a value', '$5\r\nhello\r\n', 'hello'],
    ['no value', '$-1\r\n', null],
    ['no value, in RESP3', '_\r\n', null],
    ['an empty value', '$0\r\n\r\n', ''],
    ['that it has done something', '+OK\r\n', DONE],
    ['an error', '-ERR not now\r\n', { refused: 'ERR not now' }],
    ['an error without a word', '-\r\n', { refused: '' }],
    ['a value with line breaks', '$6\r\na\r\n\nb\r\r\n', 'a\r\n\nb\r'],
    ['a value that looks like a reply', '$11\r\n$5\r\nother\r\n\r\n', '$5\r\nother\r\n'],
    ['a value that looks like an error', '$6\r\n-ERR\r\n\r\n', '-ERR\r\n'],
    ['a value of bytes past ASCII', '$4\r\n\x80\xff\xc3\xa9\r\n', '\x80\xff\xc3\xa9'],
    ['a value with null bytes', '$3\r\n\0a\0\r\n', '\0a\0'],
    ['a length with a zero in front', '$03\r\nabc\r\n', 'abc'],
    ['an error of bytes past ASCII', '-ERR \xe9\r\n', { refused: 'ERR \xe9' }],
  ])('%s is heard as it is', (_what, reply, heard) => {
    expect(hearAll(reply)).toEqual({ heard: [heard], thrown: null });
  });

  const REPLIES: readonly Heard[] = [
    'first',
    null,
    { refused: 'WRONGTYPE of no use' },
    '',
    'a\r\n$-1\r\n',
    '\x80\xff',
    DONE,
    null,
    'x'.repeat(30),
    { refused: 'ERR' },
  ];
  const stream = Buffer.from(REPLIES.map(toReply).join(''), 'latin1');

  test('several in one piece are heard in their order', () => {
    expect(hear([stream])).toEqual({ heard: REPLIES, thrown: null });
  });

  test('cut in two anywhere, they are the same', () => {
    for (let at = 0; at <= stream.length; at += 1)
      expect(hear(cut(stream, [at]))).toEqual({ heard: REPLIES, thrown: null });
  });

  test('byte by byte, they are the same', () => {
    expect(hear(cut(stream, [...stream.keys()]))).toEqual({ heard: REPLIES, thrown: null });
  });

  test('each is heard as soon as its last byte is there', () => {
    let replies = 0;
    const count = () => (replies += 1);
    const read = createReplyReader({ onValue: count, onStatus: count, onRefusal: count });
    for (const one of REPLIES) {
      const reply = Buffer.from(toReply(one), 'latin1');
      const before = replies;
      read(reply.subarray(0, -1));
      expect(replies).toBe(before);
      read(reply.subarray(-1));
      expect(replies).toBe(before + 1);
    }
  });

  test('whatever it is, in whatever pieces, it is the same', () => {
    const text = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
    const tricky = fc.string({ unit: fc.constantFrom('\r', '\n', '$', '-', '1', 'a'), maxLength: 20 });
    const value = fc.oneof(text, tricky);
    const refusal = text.map((words) => ({ refused: words.replaceAll(/[\r\n]/g, ' ') }));
    const replies = fc.array(fc.oneof(value, fc.constant(null), refusal), { maxLength: 12 });
    const cuts = fc.array(fc.nat({ max: 2_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(replies, cuts, (said, before) => {
        const bytes = Buffer.from(said.map(toReply).join(''), 'latin1');
        const pieces = cut(
          bytes,
          before.map((at) => at % (bytes.length + 1)),
        );
        expect(hear(pieces)).toEqual({ heard: said, thrown: null });
      }),
    );
  });
});

describe('a value of a megabyte', () => {
  const value = 'abcdefghijklmnop'.repeat(65_536);
  const bytes = Buffer.from(toReply(value));
  const pieces = cut(
    bytes,
    Array.from({ length: 16 }, (_, at) => (at + 1) * 65_536),
  );

  test('is heard whole, and so is what comes behind it', () => {
    const { heard, thrown } = hear([...pieces, Buffer.from('$-1\r\n')]);
    expect(thrown).toBeNull();
    expect(heard).toHaveLength(2);
    expect(heard[0] === value).toBe(true); // a difference would be printed
    expect(heard[1]).toBeNull();
  });

  test('is not joined over and over: the work stays within a few times its length', () => {
    const concat = jest.spyOn(Buffer, 'concat');
    try {
      expect(hear(pieces).heard).toHaveLength(1);
      const joined = concat.mock.results.map(({ value: whole }) => (whole as Buffer).length);
      expect(joined.reduce((sum, length) => sum + length, 0)).toBeLessThan(10 * bytes.length);
    } finally {
      concat.mockRestore();
    }
  });
});

describe('what is no reply to GETEX or AUTH', () => {
  const LONG = 'x'.repeat(5_000);
  const REFUSED: readonly [what: string, said: string][] = [
    ['a number', ':1\r\n'],
    ['a list', '*1\r\n$1\r\na\r\n'],
    ['a null of RESP3 with something behind it', '_x\r\n'],
    ['a push of RESP3', '>1\r\n$1\r\na\r\n'],
    ['a verbatim string of RESP3', '=7\r\ntxt:abc\r\n'],
    ['an empty line', '\r\n'],
    ['words', 'HTTP/1.1 400 Bad Request\r\n'],
    ['no length', '$\r\n'],
    ['a length that is no number', '$x\r\n'],
    ['a length with a letter behind', '$3x\r\nabc\r\n'],
    ['a negative length', '$-2\r\n'],
    ['a minus alone', '$-\r\n'],
    ['another spelling of none', '$-01\r\n'],
    ['a length with an exponent', '$1e3\r\n'],
    ['a length with a fraction', '$1.0\r\na\r\n'],
    ['a length with a sign', '$+1\r\na\r\n'],
    ['a length with a space', '$ 1\r\na\r\n'],
    ['a hexadecimal length', '$0x1\r\na\r\n'],
    ['a length of ten digits', '$1000000000\r\n'],
    ['a small length of ten digits', '$0000000001\r\na\r\n'],
    ['a bare line feed behind a length', '$1\na\r\n'],
    ['a bare line feed behind an error', '-ERR\n'],
    ['a bare line feed', '\n'],
    ['a value that goes on', '$1\r\nab\r\n'],
    ['a value that ends early', '$3\r\na\r\n$-1\r\n'],
    ['a value behind which the carriage return is missing', '$1\r\na\n\n'],
    ['a value behind which the line feed is missing', '$1\r\na\r\r'],
    ['an error without an end', `-${LONG}`],
    ['a length without an end', `$${'1'.repeat(5_000)}`],
    ['a line of another kind without an end', LONG],
  ];

  test.each(REFUSED)('%s ends it: what came before is heard, nothing after', (_what, said) => {
    const { heard, thrown } = hearAll(`$1\r\na\r\n$-1\r\n${said}`);
    expect(thrown).toBeInstanceOf(UnexpectedReplyError);
    expect(heard).toEqual(['a', null]);
  });

  test.each(REFUSED)('%s ends it byte by byte too', (_what, said) => {
    const bytes = Buffer.from(`$1\r\na\r\n${said}`, 'latin1');
    const { heard, thrown } = hear(cut(bytes, [...bytes.keys()]));
    expect(thrown).toBeInstanceOf(UnexpectedReplyError);
    expect(heard).toEqual(['a']);
  });

  test('a line that has not ended yet is none of it', () => {
    expect(hearAll(`-${'x'.repeat(4_000)}`)).toEqual({ heard: [], thrown: null });
  });
});
