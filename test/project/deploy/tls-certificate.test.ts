import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { createCertificate } from '../../support/certificate.ts';
import { startCaddy } from '../../support/fronts/caddy.ts';
import { createFetch, createPlace, isUp } from '../../support/fronts/front.ts';
import { startNginx } from '../../support/fronts/nginx.ts';
import { eventually } from '../../support/eventually.ts';
import { ok, startRawService } from '../../support/raw-service.ts';

test.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
])(
  '%s serves a new certificate after a reload, and a request in flight completes',
  async (_name, startFront) => {
    const place = await createPlace();
    await using cloakroom = await startRawService();
    await using front = await startFront(place, [cloakroom.host]);
    const asked = createDeferred<Socket>();
    cloakroom.answer = ({ start }, socket) => {
      if (!start.startsWith('POST')) return ok('ready');
      asked.resolve(socket);
      return null;
    };
    const call = createFetch(place)(place.origin, { method: 'POST' });
    const socket = await asked.promise;

    const replaced = { ...place, certificate: createCertificate('localhost') };
    await front.changeCertificate(replaced.certificate);
    await eventually(async () => isUp(replaced));
    socket.write(ok('still here'));
    expect(await (await call).text()).toBe('still here');
  },
);
