import { LaunchError } from '../launch.mjs';

/**
 * Lets calls of the local service go wrong until that is cleared (docs/local-service.md, Faults).
 * @param {string} service Its origin.
 * @param {Readonly<Record<string, unknown>>} fault
 */
export async function setFault(service, fault) {
  await ask(service, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
}

/** @param {string} service */
export async function clearFaults(service) {
  await ask(service, { method: 'DELETE' });
}

/**
 * @param {string} service
 * @param {RequestInit} how
 */
async function ask(service, how) {
  const answer = await fetch(`${service}/_faults`, how);
  if (!answer.ok) throw new LaunchError(`The local service refused a fault: ${await answer.text()}`);
}
