/** Whether what goes to this origin stays on this host (RFC 6761 §6.3, RFC 1122 §3.2.1.3). */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
