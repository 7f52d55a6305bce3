import { toBillOfMaterials } from './bill-of-materials.mjs';
import { readLock } from './lock-file.mjs';

// Prints the software bill of materials: `npm run -s sbom > sbom.json`.

// Exit if a reader such as `head` closes the pipe early.
process.stdout.on('error', () => process.exit());
process.stdout.write(`${JSON.stringify(toBillOfMaterials(readLock()), null, 2)}\n`);
