/**
 * Returns how many of `total` connections or requests one session may hold: half of what other sessions leave, but at least
 * one. Each further session that uses its full quota halves what is left (docs/decisions/0009).
 */
export function quotaOf(total: number, takenByOthers: number): number {
  return Math.max(1, Math.floor((total - takenByOthers) / 2));
}
