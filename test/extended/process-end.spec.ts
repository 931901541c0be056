import { randomUUID } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { TestProcess } from '../support/processes/test-process.js';
import type { Hanging } from '../fleet/programs/hanging.js';

/** Longest that a process may take to end once its application is closed, in milliseconds; what hangs has ten minutes. */
const SOON = 2000;

it.concurrent.each(['nothing', 'handler', 'schema', 'hook'] satisfies Hanging[])(
  'a process ends by itself once its application is closed, though this hangs: %s',
  async (hanging) => {
    const settings = [inject('redisUrl'), `end-${randomUUID()}`, hanging];
    const application = new TestProcess(hanging, 'dist-test/fleet/programs/hanging.js', settings);
    await application.exit();
    const [, took] = /^ended (\d+) ms after it was closed$/m.exec(application.output) ?? [];
    expect(Number(took), application.output).toBeLessThan(SOON);
  },
);
