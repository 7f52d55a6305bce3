/** Shows times in the reader's time zone. The server does not know the time zone and writes UTC. */

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short' });

/** Converts every `<time datetime>` under `root`. */
export function showLocalTimes(root: ParentNode) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const date = new Date(time.getAttribute('datetime') ?? '');
    if (Number.isNaN(date.valueOf())) continue;
    time.textContent = day.format(date);
    time.setAttribute('title', moment.format(date));
  }
}
