import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { TestProcess } from '../support/processes/test-process.js';
import type { ShutdownHooks } from '../fleet/programs/shutdown-hooks.js';

/** The library's log lines of an application, in production by default. */
async function linesOf(hooks: ShutdownHooks, environment = 'production'): Promise<string[]> {
  const program = 'dist-test/fleet/programs/shutdown-hooks.js';
  const prefix = `hooks-${randomUUID()}`;
  const application = new TestProcess(hooks, program, [inject('redisUrl'), prefix, hooks], { NODE_ENV: environment });
  await application.exit();
  expect(application.output).toContain('done');
  expect(application.ending).toBe(0);
  return application.output.split('\n').filter((line) => line.includes('SIGTERM') || line.startsWith('emitted'));
}

describe('an application that consumes', () => {
  it.concurrent('is warned once, for all its connections, if it has no shutdown hooks', async () => {
    const lines = await linesOf('none');
    expect(lines[1]).toBe('emitted shutdown: NoShutdownHooksError');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/WARN/);
    expect(lines[0]).toContain(
      'Nothing in this process listens to SIGTERM, so a SIGTERM, as of a deployment, ends it in the middle of its ' +
        'handlers: their messages come again up to 20 s later, counted as crashed, or are lost if they are delivered at ' +
        'most once, and its partitions wait up to 4 s for another process. Call app.enableShutdownHooks() before app.listen().',
    );
  });

  it.concurrent.each(['late', 'closes', 'publishes only'] as const)(
    'is not warned if its hooks are enabled, it closes by itself, or it only publishes: %s',
    async (hooks) => {
      expect(await linesOf(hooks)).toEqual([]);
    },
  );

  it.concurrent('is not warned in a test', async () => {
    expect(await linesOf('none', 'test')).toEqual([]);
  });
});
