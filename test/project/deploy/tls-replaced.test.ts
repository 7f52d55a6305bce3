import { expect, test } from '@jest/globals';
import { Agent, request } from 'undici';
import type { Cloakroom } from '../../support/fleet/cloakroom.ts';
import { startLoad, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { ME_PATH } from '../../support/fleet/service.ts';
import { createReverseProxyOptions } from '../../support/reverse-proxies/reverse-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { REVERSE_PROXIES } from './reverse-proxies.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

test.each(REVERSE_PROXIES)(
  'behind %s, no request fails while the processes are replaced one by one',
  async (name, startProxy) => {
    const options = await createReverseProxyOptions();
    await using fleet = await startFleet({ processes: 2, env: { TRUST_PROXY: '1' } });
    const hostOf = ({ url }: Cloakroom) => new URL(url).host;
    const countChecks = ({ logged }: Cloakroom) => logged().filter(({ path }) => path === '/readyz').length;
    const before = fleet.processes.map(countChecks);
    await using proxy = await startProxy(options, fleet.processes.map(hostOf));
    const { cookie } = await fleet.createSession();
    let writes = 0;
    fleet.service.intercept = (req, res) => {
      if (req.method === 'GET') return false;
      writes += 1;
      req.resume().once('end', () => res.end('took it'));
      return true;
    };
    // Caddy checks once for each of its two routes. After two rounds, a process knows the interval between the rounds.
    const isChecked = (process: Cloakroom, at: number) => countChecks(process) >= (before[at] ?? 0) + 4;
    await eventually(async () => name === 'nginx' || fleet.processes.every(isChecked));

    // Disable keep-alive, because an idle connection could close just as the next request uses it.
    const agent = new Agent({ connect: { ca: options.certificate.cert }, pipelining: 0 });
    const send = async (count: number): Promise<FleetResponse> => {
      const method = METHODS[count % METHODS.length] ?? 'GET';
      const body = method === 'POST' || method === 'PUT' ? 'once' : null;
      const headers = { cookie, 'x-requested-with': 'test' };
      const began = performance.now();
      const response = await request(options.origin + ME_PATH, { dispatcher: agent, method, headers, body });
      const text = await response.body.text();
      const ms = performance.now() - began;
      return { status: response.statusCode, body: text, headers: response.headers, ms };
    };
    const load = startLoad(4, send);
    for (const old of [...fleet.processes]) {
      await proxy.takeOutOfRotation(hostOf(old));
      expect(await old.stop()).toBe(0);
      const fresh = await fleet.replace(old, { PORT: new URL(old.url).port });
      await proxy.takeOutOfRotation(null);
      // Until both routes of the reverse proxy have checked the new process, only the other process receives requests.
      const hasServed = (method: string) =>
        fresh.logged().some((line) => line['path'] === ME_PATH && line['method'] === method);
      await eventually(async () => METHODS.every(hasServed));
    }
    const responses = await load.stop();
    await agent.close();
    expect(tally(responses)).toEqual({ 200: responses.length });
    expect(writes).toBe(responses.filter(({ body }) => body === 'took it').length);
    expect(responses.length).toBeGreaterThan(50);
  },
);
