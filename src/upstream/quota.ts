/**
 * How many of `places` one of several may take at a time: half of what `takenByOthers` leaves, at least one. Several that hold
 * theirs for long take less and less, and leave some to everyone else (docs/decisions/0018).
 */
export function quotaOf(places: number, takenByOthers: number): number {
  return Math.max(1, Math.floor((places - takenByOthers) / 2));
}
