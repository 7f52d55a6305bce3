/** The client that express-openid-connect is at the identity provider. */
export const CLIENT = {
  id: 'bench',
  secret: 'a secret of the bench alone, no other has it',
  origin: 'http://localhost:3000',
  redirectUri: 'http://localhost:3000/callback',
};
