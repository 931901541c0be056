import { describe, expect, it } from 'vitest';
import type { Member } from '../../../lib/broker/broker.interface.js';
import { MemoryBroker } from '../../../lib/broker/memory/memory.broker.js';
import { ManualClock } from '../../../lib/common/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { ConsumerRuntime } from '../../../lib/consumer/consumer.runtime.js';
import { encodeEnvelope } from '../../../lib/message/envelope.js';
import { type ConsumingOptions, resolveHandler } from '../../../lib/options/resolve-handler.js';
import { resolveOptions } from '../../../lib/options/resolve-options.js';
import { TopicRegistry } from '../../../lib/topics/topic.registry.js';
import { turns } from './support/test-claimant.js';

/** Whoever joins the first topic has to wait for it. */
class SlowToJoin extends MemoryBroker {
  override async join(...[topic, ...rest]: Parameters<MemoryBroker['join']>): Promise<Member[]> {
    if (topic === 'first') await turns(20);
    return super.join(topic, ...rest);
  }
}

describe('ConsumerRuntime', () => {
  it('empties the first topic of a handler before the second, though it takes longer to take part in it', async () => {
    const clock = new ManualClock();
    const broker = new SlowToJoin(clock);
    const context: ConsumerContext = {
      broker,
      clock,
      log: { log: () => {}, warn: () => {}, error: () => {} },
      events: { wants: () => false, emit: () => {} },
      member: 'me',
    };
    for (const topic of ['second', 'first']) {
      for (let i = 0; i < 20; i++) {
        const envelope = encodeEnvelope({ payload: i, publishedAt: clock.now() });
        const message = { storedId: `${topic}-${i}`, envelope, due: { after: 0 }, onDuplicate: 'reject' } as const;
        await broker.publish({ topic, index: i % 2 }, { caller: topic, sequence: i }, [message]);
      }
    }
    const options = resolveOptions({ defaults: { partitions: 2 } }) as ConsumingOptions;
    const handled: string[] = [];
    const runtime = new ConsumerRuntime({
      context,
      topics: new TopicRegistry(broker, options.topicSettings),
      settings: options.consumer,
      handlers: [
        {
          ...resolveHandler('Jobs.work', ['first', 'second'], { concurrency: 3 }, options),
          handle: ([message]) => handled.push(message?.topic ?? ''),
        },
      ],
    });
    await runtime.start();
    await turns(100);

    expect(handled).toEqual([...Array(20).fill('first'), ...Array(20).fill('second')]);
    await runtime.stop();
  });
});
