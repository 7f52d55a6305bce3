import { LaunchError } from '../launch.mjs';

/**
 * Sets a fault in the local service. The fault lasts until it is cleared (docs/local-service.md, Faults).
 * @param {string} service the local service's origin
 * @param {Readonly<Record<string, unknown>>} fault
 */
export async function setFault(service, fault) {
  await send(service, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
}

/** @param {string} service */
export async function clearFaults(service) {
  await send(service, { method: 'DELETE' });
}

/**
 * @param {string} service
 * @param {RequestInit} init
 */
async function send(service, init) {
  const response = await fetch(`${service}/_faults`, init);
  if (!response.ok) throw new LaunchError(`The local service refused a fault: ${await response.text()}`);
}
