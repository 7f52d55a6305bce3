/** What came of a request: who answered, what the gateway did, how long it took, and the body. */
import { createBodyView } from './body-view.js';
import { toShownBody } from './body-text.js';
import { BY, endSentences, showHeaders, showProblem, toBytes, toStatusWords } from './answer-facts.js';
import { find, make, makeButton } from '../elements.js';
import { explain } from './explanation.js';
import { nextOf, withNext } from './next-page.js';
import { toSaveLink } from './save-link.js';
import { toMs, toTimingPicture } from './timing-picture.js';

/** @typedef {import('./call.js').Answer} Answer */
/** @typedef {import('./call.js').Outcome} Outcome */
/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** Where sign-in comes back to. */
const SIGN_IN = '/auth/login?return_to=%2Fconsole';
/** What there is to say where there is no answer to show. */
const NO_ANSWER = {
  redirect:
    'The service answered with a redirect. The gateway follows none, and browsers show pages nothing of it: use curl to see where it leads.',
  cancelled: 'Cancelled before an answer came. The service may have done its work all the same.',
  offline: 'Not sent: this device is offline.',
  unreachable: 'No answer: the connection to Cloakroom failed, or broke off before the answer began.',
};

/** @param {ParentNode} root */
export function createAnswerView(root) {
  const outcomeWords = find(root, '[data-outcome]', HTMLElement);
  const progressWords = find(root, '[data-progress]', HTMLElement);
  const section = find(root, '[data-answer]', HTMLElement);
  const actions = find(section, '[data-answer-actions]', HTMLElement);
  const heading = find(section, 'h2', HTMLElement);
  const body = createBodyView(section);
  /** @type {(request: ComposedRequest) => void} */
  let follow = () => {};
  /** @type {(text: string) => void} */
  let copy = () => {};

  /** @param {readonly (Node | string)[]} words */
  const say = (...words) => {
    progressWords.textContent = '';
    outcomeWords.replaceChildren(...words);
  };

  /**
   * @param {Answer} answer
   * @param {ComposedRequest} request
   */
  const showAnswer = async (answer, request) => {
    const { headers } = answer;
    const shown = await toShownBody(answer.body, headers.get('content-type') ?? '');
    const json = answer.end === 'whole' ? shown.json : undefined;
    const explanation = explain(answer, json);
    section.hidden = false;
    find(section, '[data-told]', HTMLElement).replaceChildren(
      ...[...endSentences(answer), ...explanation.sentences].map((words) => make('li', {}, [words])),
    );
    showProblem(section, explanation);
    find(section, '[data-timing]', HTMLElement).replaceChildren(
      ...toTimingPicture(explanation.timing, answer.totalMs),
    );
    showHeaders(section, headers);
    body.show(shown, answer);
    const next = nextOf(json);
    const hadFocus = actions.contains(document.activeElement);
    actions.replaceChildren(
      ...(explanation.problem?.asksToSignIn === true ? [signInLink()] : []),
      ...(next === null
        ? []
        : [makeButton('Follow next', () => follow(withNext(request, next)), { 'data-follow': '' })]),
      ...(answer.body.size === 0
        ? []
        : [
            makeButton('Copy the body', () => void answer.body.text().then(copy)),
            toSaveLink(answer.body, request.path),
          ]),
    );
    // Whoever follows a list by keyboard goes on from the same place.
    const goOn = actions.querySelector('[data-follow]');
    if (hadFocus) (goOn instanceof HTMLElement ? goOn : heading).focus();
    const status = make('strong', answer.status < 400 ? {} : { class: 'bad' }, [toStatusWords(answer)]);
    const size = `${toBytes(answer.body.size)} in ${toMs(answer.totalMs)}`;
    say(status, [` ${BY[explanation.by]}: ${size}.`, ...endSentences(answer)].join(' '));
  };

  return {
    /** Nothing was sent. */
    refused() {
      say('Not sent: see what is marked above.');
    },
    /** @param {ComposedRequest} request */
    waiting({ method }) {
      section.setAttribute('aria-busy', 'true'); // the one before stays in sight: the page does not jump
      say(`Sending ${method} and waiting for the answer…`);
    },
    /** @param {number} bytes */
    progress(bytes) {
      progressWords.textContent = `${toBytes(bytes)} so far`;
    },
    /**
     * @param {Outcome} outcome
     * @param {ComposedRequest} request
     */
    async show(outcome, request) {
      if (typeof outcome === 'string') {
        section.hidden = true;
        say(NO_ANSWER[outcome]);
      } else await showAnswer(outcome, request);
      section.removeAttribute('aria-busy');
      if (!isSeen(outcomeWords)) outcomeWords.scrollIntoView({ block: 'center' });
    },
    /** @param {number} bytes What the body took on the wire. */
    wireSize(bytes) {
      body.wireSize(bytes);
    },
    /** @param {(request: ComposedRequest) => void} listener */
    onFollow(listener) {
      follow = listener;
    },
    /** @param {(text: string) => void} listener */
    onCopy(listener) {
      copy = listener;
    },
  };
}

function signInLink() {
  return make('a', { class: 'button button--primary', href: SIGN_IN }, ['Sign in and come back']);
}

/** @param {HTMLElement} element */
function isSeen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}
