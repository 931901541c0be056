import { describe, expect, it, vi } from 'vitest';
import type { Broker } from '../../../lib/broker/broker.interface.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { DelayQueueReceiver } from '../../../lib/receiver/delay-queue.receiver.js';
import { decodeReceipt, encodeReceipt } from '../../../lib/receiver/receipts.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { TopicRegistry } from '../../../lib/topics/topic.registry.js';

function receiptOf(index: number): string {
  const delivery = { storedId: 'a', token: '1.1', attempt: 1, receivedAt: 1, isGone: false };
  return encodeReceipt({ partition: { topic: 'jobs', index }, ...delivery });
}

describe('a receipt that was made up', () => {
  it('is none if no topic can have its partition', () => {
    expect(decodeReceipt(receiptOf(1023)).partition.index).toBe(1023);
    expect(() => decodeReceipt(receiptOf(1024))).toThrow(InvalidArgumentError);
  });

  it('makes nobody ask for a partition that its topic does not have', async () => {
    const extend = vi.fn<Broker['extend']>(async () => ['lost']);
    const context = {
      broker: { extend } as Partial<Broker> as Broker,
      clock: new ManualClock(),
    } as unknown as ConsumerContext;
    const receiver = new DelayQueueReceiver({
      context,
      topics: { knownPartitions: () => 4 } as Partial<TopicRegistry> as TopicRegistry,
      consumer: undefined,
      runtime: () => undefined,
      isHandled: () => false,
      timeout: 1000,
    });
    expect([await receiver.extend(receiptOf(4), '1m'), extend.mock.calls.length]).toEqual(['lost', 0]);
    expect([await receiver.extend(receiptOf(3), '1m'), extend.mock.calls.length]).toEqual(['lost', 1]);
  });
});
