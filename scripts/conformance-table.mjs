import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENT, withTable } from '../test/local-service/conformance/table.mjs';

// Generates the table in docs/local-service.md that lists the requirements of the interface and their tests.

writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8')));
