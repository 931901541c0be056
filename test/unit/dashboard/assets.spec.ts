import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { readAssets } from '../../../lib/dashboard/assets.js';

it('a dashboard whose pages are not there says so, and what to do about it', () => {
  expect(() => readAssets([tmpdir()])).toThrow(/keep 'nestjs-delay-queue' external/);
  expect(readAssets().get('index.html')?.type).toMatch(/^text\/html/);
});
