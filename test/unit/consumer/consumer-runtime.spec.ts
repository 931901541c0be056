import { describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { ConsumerRuntime } from '../../../lib/consumer/consumer.runtime.js';
import { Intakes } from '../../../lib/consumer/ownership/intakes.js';
import type { MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { encodeEnvelope } from '../../../lib/messages/envelope.js';
import { type ConsumingOptions, resolveHandler } from '../../../lib/nest/handlers/resolve-handler.js';
import type { TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { testRegistry } from '../../support/units/handling.js';
import { turns } from '../../support/units/test-claimant.js';

const clock = new ManualClock();

/** It takes long to take partitions of the first topic, and long to end the session's subscription. */
function slowBroker(): EmbeddedBroker {
  const embedded = new EmbeddedBroker(clock);
  return wrapBroker(
    embedded,
    async (call) => {
      if (call.operation === 'acquire' && call.args[0].topic === 'first') await turns(20);
      return call.run();
    },
    {
      watchSession: (session, listener) => {
        const unsubscribe = embedded.watchSession(session, listener);
        return async () => {
          await turns(20);
          await unsubscribe();
        };
      },
    },
  );
}

/** A runtime with one handler for the topics 'first' and 'second'. */
function runtimeOn(
  broker: EmbeddedBroker,
  handle: MessageHandler['handle'],
  defaults: TopicOptions = {},
): ConsumerRuntime {
  const context: ConsumerContext = {
    broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    session: 'me',
  };
  const options = resolveOptions({ defaults: { partitions: 2, ...defaults } }) as ConsumingOptions;
  const topics = testRegistry(context, { settingsOf: options.topicSettings });
  const handler = resolveHandler('Jobs.work', ['first', 'second'], { concurrency: 3 }, options);
  return new ConsumerRuntime({
    context,
    topics,
    settings: options.consumer,
    handlers: [{ ...handler, handle }],
    intakes: new Intakes(true),
    hooks: [],
    timeout: 5000,
    onDataLost: () => {},
  });
}

/** Publishes messages, due at once, to both partitions of a topic. */
async function publish(broker: EmbeddedBroker, topic: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const envelope = encodeEnvelope({ payload: i, publishedAt: clock.now() });
    const message = { storedId: `${topic}-${i}`, envelope, due: { after: 0 }, onDuplicate: 'reject' } as const;
    await broker.messages.publish({ topic, index: i % 2 }, { caller: topic, sequence: i }, [message]);
  }
}

describe('ConsumerRuntime', () => {
  it('empties the first topic of a handler before the second, though it takes longer to take part in it', async () => {
    const broker = slowBroker();
    for (const topic of ['second', 'first']) await publish(broker, topic, 20);
    const handled: string[] = [];
    const runtime = runtimeOn(broker, ([message]) => handled.push(message?.topic ?? ''));
    await runtime.start();
    await turns(100);

    expect(handled).toEqual([...Array(20).fill('first'), ...Array(20).fill('second')]);
    await runtime.stop();
  });

  it('lets what it claims while it leaves finish', async () => {
    const broker = slowBroker();
    const started: DelayedMessage[] = [];
    const ends: (() => void)[] = [];
    const runtime = runtimeOn(broker, async (messages) => {
      started.push(...messages);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    await runtime.start();
    const stopped = runtime.stop();
    await publish(broker, 'second', 1);
    await turns(100);
    expect(started.map(({ id, signal }) => [id, signal.aborted])).toEqual([['second-0', false]]);
    for (const end of ends) end();
    await stopped;

    expect(await broker.messages.stats({ topic: 'second', index: 0 })).toMatchObject({
      scheduled: 0,
      inFlight: 0,
      counters: { acked: 1 },
    });
  });

  it('is known to wait for permits for a while, though what is delivered at most once has no lease', async () => {
    const leases = new Set<number>();
    const broker = wrapBroker(new EmbeddedBroker(clock), async (call) => {
      if (call.operation === 'permit') leases.add(call.args[1].lease);
      return call.run();
    });
    const runtime = runtimeOn(broker, () => {}, { delivery: 'at-most-once', rateLimit: { max: 1, per: '1h' } });
    await runtime.start();
    await turns(20);
    await runtime.stop();

    expect([...leases]).toEqual([30_000]);
  });
});
