/** A bar of what a call took. The numbers stand beside it as text. */
import { grouped } from '../counts.js';
import { make } from '../elements.js';

/** @typedef {import('./server-timing.js').CallTiming} CallTiming */

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1_000;
const HEIGHT = 20;

/**
 * @param {CallTiming | null} timing
 * @param {number} totalMs
 */
export function toTimingPicture(timing, totalMs) {
  const parts =
    timing === null
      ? []
      : [
          { name: 'Session', part: 'session', ms: timing.session.ms },
          { name: 'Token', part: 'token', ms: timing.token.ms },
          { name: 'Service', part: 'service', ms: timing.service.ms },
        ];
  const counted = parts.reduce((sum, { ms }) => sum + ms, 0);
  // Clocks differ, and the service's bar may be the longer one.
  const rest = { name: 'Network and body', part: 'rest', ms: Math.max(totalMs - counted, 0) };
  const all = [...parts, rest];
  return [toBar(all, Math.max(totalMs, counted)), toLegend(all, totalMs)];
}

/**
 * @param {readonly { part: string, ms: number }[]} parts
 * @param {number} wholeMs
 */
function toBar(parts, wholeMs) {
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

/**
 * @param {readonly { name: string, part: string, ms: number }[]} parts
 * @param {number} totalMs
 */
function toLegend(parts, totalMs) {
  const terms = [...parts, { name: 'Total', part: 'total', ms: totalMs }].map(({ name, part, ms }) =>
    make('div', { class: `timing__term timing__term--${part}` }, [
      make('dt', {}, [name]),
      make('dd', {}, [toMs(ms)]),
    ]),
  );
  return make('dl', { class: 'timing__legend' }, terms);
}

/** @param {number} ms */
export function toMs(ms) {
  return `${ms > 0 && ms < 10 ? ms.toFixed(1) : grouped(Math.round(ms))} ms`;
}
