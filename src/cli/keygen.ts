import { randomBytes } from 'node:crypto';

// Prints a session key and nothing else, so that the output can be redirected to a file.
process.stdout.write(`${randomBytes(32).toString('base64url')}\n`);
