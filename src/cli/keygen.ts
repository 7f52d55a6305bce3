import { randomBytes } from 'node:crypto';

// Prints one session key and nothing else, so that the output can go straight into a file.
process.stdout.write(`${randomBytes(32).toString('base64url')}\n`);
