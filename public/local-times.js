/** Times are written in UTC by the server, who can't know where the reader is; here they come into the reader's zone. */

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short' });

/**
 * Shows every `<time>` under `root` that carries a moment in the reader's own zone.
 * @param {ParentNode} root
 */
export function showLocalTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const date = new Date(time.getAttribute('datetime') ?? '');
    if (Number.isNaN(date.valueOf())) continue;
    time.textContent = day.format(date);
    time.setAttribute('title', moment.format(date));
  }
}
