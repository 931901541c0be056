/** `npm run tables`: the tables of the documents that are made of public types, anew where these say something else. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runScript } from './setup/failure.mjs';
import { referenceDocuments } from './setup/reference-tables.mjs';
import { ROOT } from './setup/run.mjs';

await runScript(async () => {
  for (const { path, is, shouldBe } of referenceDocuments()) {
    if (is !== shouldBe) writeFileSync(join(ROOT, path), shouldBe);
  }
  return 0;
});
