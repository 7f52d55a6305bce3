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
  '%s shows a new certificate once it is told to, and a call under way goes on',
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

    const renewed = { ...place, certificate: createCertificate('localhost') };
    await front.changeCertificate(renewed.certificate);
    await eventually(async () => isUp(renewed));
    socket.write(ok('still here'));
    expect(await (await call).text()).toBe('still here');
  },
);
