import { randomBytes } from 'node:crypto';

// One key as SESSION_KEYS takes it, and nothing else: the output may go straight into a file.
process.stdout.write(`${randomBytes(32).toString('base64url')}\n`);
