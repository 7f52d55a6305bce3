/** A moment of another clock (ms since the epoch, exact to `exactToMs`), and when, by ours, it was asked for and told. */
export interface ClockReading {
  readonly theirs: number;
  readonly exactToMs: number;
  readonly askedAt: number;
  readonly toldAt: number;
}

/** How far ours is at least ahead of theirs (ms, behind where negative), whenever on the way they looked at it. */
export function aheadBy({ theirs, exactToMs, askedAt, toldAt }: ClockReading): number {
  const most = toldAt - theirs;
  const least = askedAt - (theirs + exactToMs);
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

/** “12 s ahead of”, “3 min behind”. */
export function aheadInWords(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const time = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `${time} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
}
