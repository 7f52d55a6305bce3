import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENT, withTable } from '../test/local-service/conformance/table.mjs';

// Writes the table of the interface's requirements and their tests into docs/local-service.md.

writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8')));
