/** Shows the outcome of a request: status, sender, what the gateway did, timing, headers and body. */
import { formatCount } from '../counts.js';
import { find, make } from '../elements.js';
import { toShownBody } from './body-text.js';
import { createBodyView } from './body-view.js';
import { explain } from './explanation.js';
import { createOutcomeLine } from './outcome-line.js';
import { replaceActions, toActions } from './response-actions.js';
import { MAX_BYTES } from './send-request.js';
import { formatMs, toTimingChart } from './timing-chart.js';

/** @typedef {import('./explanation.js').Explanation} Explanation */
/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./send-request.js').ReceivedResponse} ReceivedResponse */
/** @typedef {import('./send-request.js').Outcome} Outcome */

const SENDERS = {
  service: 'from the service',
  gateway: 'from the gateway',
  other: 'from a server in between',
};

/**
 * @param {ParentNode} root
 * @param {import('./response-actions.js').ActionListeners} listeners
 */
export function createResponseView(root, listeners) {
  const outcomeLine = createOutcomeLine(root);
  const section = find(root, '[data-response]', HTMLElement);
  const actions = find(section, '[data-response-actions]', HTMLElement);
  const heading = find(section, 'h2', HTMLElement);
  const body = createBodyView(section);

  /**
   * @param {ReceivedResponse} response
   * @param {ComposedRequest} request
   * @param {FocusOptions} focusOptions
   */
  const showResponse = async (response, request, focusOptions) => {
    const contentType = response.headers.get('content-type') ?? '';
    const shown = await toShownBody(response.body, contentType);
    const json = response.end === 'complete' ? shown.json : undefined;
    const explanation = explain(response, json);
    section.hidden = false;
    showSentences(section, [...endSentences(response), ...explanation.sentences]);
    showProblem(section, explanation);
    find(section, '[data-timing]', HTMLElement).replaceChildren(
      ...toTimingChart(explanation.timing, response.totalMs),
    );
    showHeaders(section, response.headers);
    body.show(shown, response);
    const needsSignIn = explanation.problem?.needsSignIn === true;
    const offered = toActions({ body: response.body, contentType, json, request, needsSignIn }, listeners);
    replaceActions(actions, offered, heading, focusOptions);
    outcomeLine.show(...toOutcomeWords(response, SENDERS[explanation.by]));
  };

  /** @param {Parameters<typeof outcomeLine.showNoResponse>[0]} reason */
  const showNone = (reason) => {
    const hasScrolledAway = outcomeLine.hasScrolledAway();
    section.hidden = true;
    section.removeAttribute('aria-busy');
    outcomeLine.showNoResponse(reason);
    if (!hasScrolledAway) outcomeLine.bringIntoView();
  };

  return {
    /** Shows that the form has issues and that nothing was sent. */
    refused() {
      section.hidden = true; // the section belongs to an earlier request
      section.removeAttribute('aria-busy');
      outcomeLine.showNoResponse('refused');
    },
    /** @param {ComposedRequest} request */
    waiting({ method }) {
      section.setAttribute('aria-busy', 'true'); // the previous response stays, so that the page does not jump
      outcomeLine.show(`Sending ${method} and waiting for the response…`);
      outcomeLine.savePosition();
    },
    progress: outcomeLine.showProgress,
    /**
     * Rejects if the response can't be shown.
     * @param {Outcome} outcome
     * @param {ComposedRequest} request
     */
    async show(outcome, request) {
      if (typeof outcome === 'string') {
        showNone(outcome);
        return;
      }
      const hasScrolledAway = outcomeLine.hasScrolledAway(); // before the page changes its length
      await showResponse(outcome, request, { preventScroll: hasScrolledAway });
      section.removeAttribute('aria-busy');
      if (!hasScrolledAway) outcomeLine.bringIntoView(section);
    },
    /** Replaces a response that can’t be shown completely with a message. */
    failed: () => showNone('failed'),
    /** @param {number} bytes The length of the encoded body. */
    wireSize: (bytes) => body.wireSize(bytes),
  };
}

/**
 * @param {ReceivedResponse} response
 * @returns {string[]}
 */
function endSentences({ end, body }) {
  // When a connection fails, browsers discard unread bytes, so the size may be 0. Omit a size of 0.
  const after = body.size === 0 ? '' : ` after ${formatCount(body.size, 'byte')}`;
  if (end === 'interrupted') return [`The connection failed${after}. The response is incomplete.`];
  if (end === 'cancelled') return [`Cancelled${after}. The response is incomplete.`];
  if (end === 'too-large')
    return [`The console reads at most ${formatCount(MAX_BYTES, 'byte')}. The response is incomplete.`];
  return [];
}

/**
 * @param {ReceivedResponse} response
 * @param {string} sender
 */
function toOutcomeWords(response, sender) {
  const { status, statusText, body, totalMs } = response;
  const words = make('strong', status < 400 ? {} : { class: 'bad' }, [`${status} ${statusText}`.trim()]);
  const size = `${formatCount(body.size, 'byte')} in ${formatMs(totalMs)}`;
  return [words, [` ${sender}: ${size}.`, ...endSentences(response)].join(' ')];
}

/**
 * @param {ParentNode} section
 * @param {readonly string[]} sentences
 */
function showSentences(section, sentences) {
  const list = find(section, '[data-sentences]', HTMLElement);
  list.replaceChildren(...sentences.map((sentence) => make('li', {}, [sentence])));
}

/**
 * @param {ParentNode} section
 * @param {Explanation} explanation
 */
function showProblem(section, { problem }) {
  const list = find(section, '[data-problem]', HTMLElement);
  list.hidden = problem === null;
  if (problem === null) return;
  const rows = [
    ['Code', problem.code],
    ['Reason', problem.detail || problem.title],
    ['What to do', problem.advice],
    ['Request ID', problem.requestId],
  ].filter(([, value]) => value !== '');
  list.replaceChildren(
    ...rows.flatMap(([name = '', value = '']) => [
      make('dt', {}, [name]),
      make('dd', { dir: 'auto' }, [value]),
    ]),
  );
}

/**
 * @param {ParentNode} section
 * @param {Headers} headers
 */
function showHeaders(section, headers) {
  const entries = [...headers];
  find(section, '[data-header-count]', HTMLElement).textContent = String(entries.length);
  const rows = entries.map(([name, value]) =>
    make('tr', {}, [make('th', { scope: 'row' }, [name]), make('td', { dir: 'auto' }, [value])]),
  );
  find(section, '[data-headers]', HTMLElement).replaceChildren(make('table', {}, [make('tbody', {}, rows)]));
}
