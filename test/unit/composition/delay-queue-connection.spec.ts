import { describe, expect, it } from 'vitest';
import { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { DelayQueueModuleOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import { resolveHandler } from '../../../lib/nest/handlers/resolve-handler.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { TestBackend } from '../../../lib/testing/test-backend.js';
import { VirtualTime } from '../../../lib/testing/virtual-time.js';
import { VERSION } from '../../../lib/version.js';

/** A connection without Nest, on a broker in memory, that handles `jobs`. */
async function setUp(given: DelayQueueModuleOptions = {}) {
  const time = new VirtualTime({ now: 0 });
  const backend = new TestBackend(time);
  const options = backend.resolve(given, VERSION);
  const warnings: string[] = [];
  const log = { log: () => {}, warn: (line: string) => warnings.push(line), error: () => {} };
  const connection = await DelayQueueConnection.create({ name: 'billing', options, backend, log });
  const handled: unknown[] = [];
  const start = async (): Promise<void> => {
    await connection.connect();
    const { consumer, topicSettings } = options;
    const handlers = consumer
      ? [
          {
            ...resolveHandler('Jobs.work', ['jobs'], {}, { consumer, topicSettings }),
            handle: ([message]: readonly DelayedMessage[]) => handled.push(message?.payload),
          },
        ]
      : [];
    const hooks = [{ name: 'Jobs.bury', topic: 'other', call: () => {} }];
    await connection.consume({ handlers, hooks, schedules: [], findProvided: () => [] });
    connection.booted(() => undefined);
  };
  return { connection, start, time, handled, warnings };
}

describe('DelayQueueConnection', () => {
  it('publishes, handles and shows what it did, with nothing of Nest around it', async () => {
    const { connection, start, time, handled } = await setUp();
    await start();
    await connection.producer.publish('jobs', 42, { delay: '1h' });
    expect(await connection.admin.stats('jobs')).toMatchObject({ scheduled: 1 });

    await time.moveTo(() => 3_600_000);
    expect(handled).toEqual([42]);
    expect(await connection.health.check()).toMatchObject({ status: 'up', topics: [{ topic: 'jobs' }] });
    await connection.close();
  });

  it('handles nothing more once it has stopped, but still publishes until it is closed', async () => {
    const { connection, start, time, handled } = await setUp();
    await start();
    await connection.stop();
    await connection.producer.publish('jobs', 1);
    await time.moveTo(() => 60_000);

    expect(handled).toEqual([]);
    expect(await connection.admin.stats('jobs')).toMatchObject({ due: 1 });
    await connection.close();
  });

  it('may be stopped and closed twice, and before it was connected', async () => {
    const { connection, start } = await setUp();
    await start();
    const { connection: unused } = await setUp();
    for (const one of [connection, unused]) {
      await expect(Promise.all([one.stop(), one.stop()])).resolves.toBeDefined();
      await expect(Promise.all([one.close(), one.close()])).resolves.toBeDefined();
    }
  });

  it('warns of a hook for dead letters that never come, unless it only publishes', async () => {
    const consuming = await setUp();
    await consuming.start();
    expect(consuming.warnings).toEqual([
      "Jobs.bury will never be called: nothing in this process handles topic 'other'",
    ]);
    await consuming.connection.close();

    const publishing = await setUp({ consumer: false });
    await publishing.start();
    expect(publishing.warnings).toEqual([]);
    await publishing.connection.close();
  });
});
