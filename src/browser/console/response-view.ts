/** Shows the outcome of a request: status, sender, what the gateway did, timing, headers and body. */
import { formatCount } from '../counts.ts';
import { find, make } from '../elements.ts';
import { toShownBody } from './body-text.ts';
import { createBodyView } from './body-view.ts';
import { explain, type Explanation } from './explanation.ts';
import { createOutcomeLine } from './outcome-line.ts';
import { replaceActions, toActions, type ActionListeners } from './response-actions.ts';
import { MAX_BYTES, type ReceivedResponse, type Outcome } from './send-request.ts';
import { formatMs, toTimingChart } from './timing-chart.ts';
import type { ComposedRequest } from './request-rules.ts';

const SENDERS = {
  service: 'from the service',
  gateway: 'from the gateway',
  other: 'from a server in between',
};

/** Creates the view of a response: the outcome, an explanation, times, headers, body and actions. */
export function createResponseView(root: ParentNode, listeners: ActionListeners) {
  const outcomeLine = createOutcomeLine(root);
  const section = find(root, '[data-response]', HTMLElement);
  const actions = find(section, '[data-response-actions]', HTMLElement);
  const heading = find(section, 'h2', HTMLElement);
  const body = createBodyView(section);

  const showResponse = async (
    response: ReceivedResponse,
    request: ComposedRequest,
    focusOptions: FocusOptions,
  ) => {
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

  const showNone = (reason: Parameters<typeof outcomeLine.showNoResponse>[0]) => {
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
    waiting({ method }: ComposedRequest) {
      section.setAttribute('aria-busy', 'true'); // the previous response stays, so that the page does not jump
      outcomeLine.show(`Sending ${method} and waiting for the response…`);
      outcomeLine.savePosition();
    },
    progress: outcomeLine.showProgress,
    /** Rejects if the response can't be shown. */
    async show(outcome: Outcome, request: ComposedRequest) {
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
    /** @param bytes The length of the encoded body. */
    wireSize: (bytes: number) => body.wireSize(bytes),
  };
}

function endSentences({ end, body }: ReceivedResponse): string[] {
  // When a connection fails, browsers discard unread bytes, so the size may be 0. Omit a size of 0.
  const after = body.size === 0 ? '' : ` after ${formatCount(body.size, 'byte')}`;
  if (end === 'interrupted') return [`The connection failed${after}. The response is incomplete.`];
  if (end === 'cancelled') return [`Cancelled${after}. The response is incomplete.`];
  if (end === 'too-large')
    return [`The console reads at most ${formatCount(MAX_BYTES, 'byte')}. The response is incomplete.`];
  return [];
}

function toOutcomeWords(response: ReceivedResponse, sender: string) {
  const { status, statusText, body, totalMs } = response;
  const words = make('strong', status < 400 ? {} : { class: 'bad' }, [`${status} ${statusText}`.trim()]);
  const size = `${formatCount(body.size, 'byte')} in ${formatMs(totalMs)}`;
  return [words, [` ${sender}: ${size}.`, ...endSentences(response)].join(' ')];
}

function showSentences(section: ParentNode, sentences: readonly string[]) {
  const list = find(section, '[data-sentences]', HTMLElement);
  list.replaceChildren(...sentences.map((sentence) => make('li', {}, [sentence])));
}

function showProblem(section: ParentNode, { problem }: Explanation) {
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

function showHeaders(section: ParentNode, headers: Headers) {
  const entries = [...headers];
  find(section, '[data-header-count]', HTMLElement).textContent = String(entries.length);
  const rows = entries.map(([name, value]) =>
    make('tr', {}, [make('th', { scope: 'row' }, [name]), make('td', { dir: 'auto' }, [value])]),
  );
  find(section, '[data-headers]', HTMLElement).replaceChildren(make('table', {}, [make('tbody', {}, rows)]));
}
