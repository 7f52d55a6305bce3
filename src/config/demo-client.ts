/** The app of the demo, which the local service knows without a word from anybody: no secret, since everybody can read it here. */
export const DEMO_APP = { id: 'demo-app', secret: 'demo-secret' } as const;
