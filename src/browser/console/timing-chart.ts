/** A bar chart of how long a request took, with the numbers as text. */
import { formatNumber } from '../counts.ts';
import { make } from '../elements.ts';
import type { RequestTiming } from './server-timing.ts';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1_000;
const HEIGHT = 20;

/** Returns a bar with the times from `Server-Timing` and its legend. `totalMs` is the time that the browser measured. */
export function toTimingChart(timing: RequestTiming | null, totalMs: number) {
  const parts =
    timing === null
      ? []
      : [
          { name: 'Session', part: 'session', ms: timing.session.ms },
          { name: 'Token', part: 'token', ms: timing.token.ms },
          { name: 'Service', part: 'service', ms: timing.service.ms },
        ];
  const measuredMs = parts.reduce((sum, { ms }) => sum + ms, 0);
  // The times may add up to more than the total, because the session may be read while the service works, and the clocks differ.
  const rest = { name: 'Network and body', part: 'rest', ms: Math.max(totalMs - measuredMs, 0) };
  const all = [...parts, rest];
  return [toBar(all, Math.max(totalMs, measuredMs)), toLegend(all, totalMs)];
}

function toBar(parts: readonly { part: string; ms: number }[], wholeMs: number) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('class', 'timing__bar');
  svg.setAttribute('aria-hidden', 'true');
  let x = 0;
  for (const { part, ms } of parts) {
    const width = wholeMs > 0 ? (ms / wholeMs) * WIDTH : 0;
    const bar = document.createElementNS(SVG, 'rect');
    bar.setAttribute('class', `timing__${part}`);
    bar.setAttribute('x', x.toFixed(1));
    bar.setAttribute('width', width.toFixed(1));
    bar.setAttribute('height', String(HEIGHT));
    svg.append(bar);
    x += width;
  }
  return svg;
}

function toLegend(parts: readonly { name: string; part: string; ms: number }[], totalMs: number) {
  const terms = [...parts, { name: 'Total', part: 'total', ms: totalMs }].map(({ name, part, ms }) =>
    make('div', { class: `timing__term timing__term--${part}` }, [
      make('dt', {}, [name]),
      make('dd', {}, [formatMs(ms)]),
    ]),
  );
  return make('dl', { class: 'timing__legend' }, terms);
}

/** Formats milliseconds, with one decimal place below 10 ms. */
export function formatMs(ms: number) {
  return `${ms > 0 && ms < 10 ? ms.toFixed(1) : formatNumber(Math.round(ms))} ms`;
}
