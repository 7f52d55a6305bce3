import { API_PATH } from '../support/constants.ts';

interface RequestText {
  readonly method?: string;
  readonly target?: string;
  /** Lines of the head, as they stand. */
  readonly fields?: readonly string[];
  /** What follows the head. */
  readonly rest?: string;
}

/** A request as it goes over the line; it closes its connection. */
export function requestText({
  method = 'GET',
  target = API_PATH,
  fields = [],
  rest = '',
}: RequestText): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', 'X-Requested-With: test', ...fields];
  if (!fields.some((line) => /^connection:/i.test(line))) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n${rest}`;
}

/** The status of each answer in what came back, in order. */
export function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
