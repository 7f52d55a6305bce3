/** The client registration of express-openid-connect with the identity provider. */
export const CLIENT = {
  id: 'bench',
  secret: 'a secret for this benchmark',
  origin: 'http://localhost:3000',
  redirectUri: 'http://localhost:3000/callback',
};
