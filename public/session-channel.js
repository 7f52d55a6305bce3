/** What the tabs of one browser tell each other of the session. Each asks Cloakroom for itself: none is believed. */

/** @typedef {import('./session-state.js').Message} Message */

const NAME = 'cloakroom-session';

/**
 * @param {(message: Message) => void} hear Called for what other tabs say, never for what this one does.
 * @returns {{ tell: (message: Message) => void }}
 */
export function openSessionChannel(hear) {
  if (!('BroadcastChannel' in globalThis)) return { tell: () => {} };
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener('message', ({ data }) => hear(/** @type {Message} */ (data)));
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
    tell: (message) => channel.postMessage(message),
  };
}
