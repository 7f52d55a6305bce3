import { startTcpServer } from '../tcp-server.ts';

/** A connection over which a GETEX came. */
export interface Asker {
  /** RESP, or whatever else a Redis would never say; latin1. */
  readonly say: (bytes: string) => void;
  /** Cuts it off. */
  readonly hangUp: () => void;
  /** Resolves when it is gone. */
  readonly closed: Promise<unknown>;
}

/** Passes for a Redis while clients connect, and answers GETEX as the test wants. */
export interface ScriptedRedis extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  /** What happens at a GETEX; at first there is no value for any key. */
  onGetex: (key: string, asker: Asker) => void;
}

const NONE = '$-1\r\n';
const OK = '+OK\r\n';
/** HELLO is from Redis 6 on: ioredis goes on without it. */
const REPLIES: Readonly<Record<string, string>> = {
  HELLO: "-ERR unknown command 'HELLO'\r\n",
  PING: '+PONG\r\n',
  INFO: '$23\r\nloading:0\r\nrun_id:one\r\n\r\n',
};

export async function startScriptedRedis(): Promise<ScriptedRedis> {
  const script = { onGetex: (_key: string, { say }: Asker) => say(NONE) };

  const server = await startTcpServer((socket) => {
    const asker: Asker = {
      say: (bytes) => void socket.write(bytes, 'latin1'),
      hangUp: () => socket.destroySoon(),
      closed: new Promise((resolve) => socket.once('close', resolve)),
    };
    let unread = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      unread += text;
      for (let command = toCommand(unread); command !== null; command = toCommand(unread)) {
        unread = unread.slice(command.length);
        const [name = '', key = ''] = command.words;
        if (name.toUpperCase() === 'GETEX') script.onGetex(key, asker);
        else asker.say(REPLIES[name.toUpperCase()] ?? OK);
      }
    });
  });

  return Object.assign(script, {
    url: `redis://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}

/** The command that the text begins with, and how much of the text it is; null while it is not all there. */
function toCommand(text: string): { readonly words: string[]; readonly length: number } | null {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return null;
  const words: string[] = [];
  let at = head[0].length;
  while (words.length < Number(head[1])) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at));
    if (size === null) return null;
    const from = at + size[0].length;
    at = from + Number(size[1]) + 2;
    if (text.length < at) return null;
    words.push(text.slice(from, at - 2));
  }
  return { words, length: at };
}
