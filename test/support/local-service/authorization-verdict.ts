import type { Server } from 'node:http';
import { expect } from '@jest/globals';
import request from 'supertest';
import { CALLBACK } from './service-under-test.ts';

/** What becomes of an authorization request at its first step. */
export async function verdictOn(server: Server, url: string) {
  const res = await request(server).get(url);
  const location = res.get('location');
  if (location === undefined) {
    return { status: res.status, type: res.type, asksToSignIn: res.text.includes('type="password"') };
  }
  const { origin, pathname, searchParams } = new URL(location);
  return { status: res.status, to: origin + pathname, parameters: Object.fromEntries(searchParams) };
}

/** The request is in order: the user is asked who they are. */
export const ACCEPTED = { status: 200, type: 'text/html', asksToSignIn: true };

/** Nothing can be trusted that one could be redirected to. */
export const SHOWN = { status: 400, type: 'text/html', asksToSignIn: false };

/** The app is told of its fault, with the state of `authorizationUrl`. */
export function told(error: string) {
  return {
    status: 303,
    to: CALLBACK,
    parameters: { error, error_description: expect.stringMatching(/.+/), state: 'a state & more' },
  };
}
