import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { answerTable } from '../../../scripts/setup/answer-table.mjs';

it('is what the types of the answers say', { timeout: 30_000 }, () => {
  expect(readFileSync('lib/gateway/answer-table.ts', 'utf8')).toBe(answerTable());
});
