/** What came of a request: who answered, what the gateway did, how long it took, and the body. */
import { counted } from '../counts.js';
import { find, make } from '../elements.js';
import { replaceActions, toActions } from './response-actions.js';
import { BY, endSentences, showHeaders, showProblem, toStatusWords } from './answer-facts.js';
import { toShownBody } from './body-text.js';
import { createBodyView } from './body-view.js';
import { explain } from './explanation.js';
import { createOutcomeLine } from './outcome-line.js';
import { toMs, toTimingPicture } from './timing-chart.js';

/** @typedef {import('./send-request.js').Answer} Answer */
/** @typedef {import('./send-request.js').Outcome} Outcome */
/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * @param {ParentNode} root
 * @param {import('./response-actions.js').ActionListeners} listeners
 */
export function createAnswerView(root, listeners) {
  const outcomeLine = createOutcomeLine(root);
  const section = find(root, '[data-answer]', HTMLElement);
  const actions = find(section, '[data-answer-actions]', HTMLElement);
  const heading = find(section, 'h2', HTMLElement);
  const body = createBodyView(section);

  /**
   * @param {Answer} answer
   * @param {ComposedRequest} request
   * @param {FocusOptions} focusing
   */
  const showAnswer = async (answer, request, focusing) => {
    const contentType = answer.headers.get('content-type') ?? '';
    const shown = await toShownBody(answer.body, contentType);
    const json = answer.end === 'whole' ? shown.json : undefined;
    const explanation = explain(answer, json);
    section.hidden = false;
    showTold(section, [...endSentences(answer), ...explanation.sentences]);
    showProblem(section, explanation);
    find(section, '[data-timing]', HTMLElement).replaceChildren(
      ...toTimingPicture(explanation.timing, answer.totalMs),
    );
    showHeaders(section, answer.headers);
    body.show(shown, answer);
    const asksToSignIn = explanation.problem?.asksToSignIn === true;
    const offered = toActions({ body: answer.body, contentType, json, request, asksToSignIn }, listeners);
    replaceActions(actions, offered, heading, focusing);
    outcomeLine.say(...toOutcomeWords(answer, BY[explanation.by]));
  };

  /** @param {Parameters<typeof outcomeLine.sayWhyNot>[0]} why */
  const showNone = (why) => {
    const isReaderElsewhere = outcomeLine.isReaderElsewhere();
    section.hidden = true;
    section.removeAttribute('aria-busy');
    outcomeLine.sayWhyNot(why);
    if (!isReaderElsewhere) outcomeLine.bringIntoView();
  };

  return {
    /** Nothing was sent. */
    refused() {
      section.hidden = true; // the answer to another call would stand below
      section.removeAttribute('aria-busy');
      outcomeLine.sayWhyNot('refused');
    },
    /** @param {ComposedRequest} request */
    waiting({ method }) {
      section.setAttribute('aria-busy', 'true'); // the one before stays in sight: the page does not jump
      outcomeLine.say(`Sending ${method} and waiting for the answer…`);
      outcomeLine.keepPlace();
    },
    progress: outcomeLine.showProgress,
    /**
     * Rejects where the answer can't be shown.
     * @param {Outcome} outcome
     * @param {ComposedRequest} request
     */
    async show(outcome, request) {
      if (typeof outcome === 'string') {
        showNone(outcome);
        return;
      }
      const isReaderElsewhere = outcomeLine.isReaderElsewhere(); // before the page changes its length
      await showAnswer(outcome, request, { preventScroll: isReaderElsewhere });
      section.removeAttribute('aria-busy');
      if (!isReaderElsewhere) outcomeLine.bringIntoView(section);
    },
    /** Half an answer is not left standing. */
    failed: () => showNone('failed'),
    /** @param {number} bytes What the body took on the wire. */
    wireSize: (bytes) => body.wireSize(bytes),
  };
}

/**
 * @param {ParentNode} section
 * @param {readonly string[]} sentences
 */
function showTold(section, sentences) {
  const told = find(section, '[data-told]', HTMLElement);
  told.replaceChildren(...sentences.map((words) => make('li', {}, [words])));
}

/**
 * @param {Answer} answer
 * @param {string} by
 */
function toOutcomeWords(answer, by) {
  const status = make('strong', answer.status < 400 ? {} : { class: 'bad' }, [toStatusWords(answer)]);
  const size = `${counted(answer.body.size, 'byte')} in ${toMs(answer.totalMs)}`;
  return [status, [` ${by}: ${size}.`, ...endSentences(answer)].join(' ')];
}
