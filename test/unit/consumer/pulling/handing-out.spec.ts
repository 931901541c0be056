import { expect, it } from 'vitest';
import type { ExtendStatus } from '../../../../lib/store/deliveries/settle.js';
import type { SettleStatus } from '../../../../lib/messages/settle-status.js';
import { type CheckedDelivery, Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { ACKED, RELEASED, type Verdict } from '../../../../lib/consumer/delivery/verdict.js';
import type { TopicConsumer } from '../../../../lib/consumer/ownership/topic-consumer.js';
import { HandingOut } from '../../../../lib/consumer/pulling/handing-out.js';
import type { ReceiptDesk } from '../../../../lib/consumer/pulling/received-message.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { testContext } from '../../../support/units/handling.js';

const LEASE = 5000;
const PARTITION = { topic: 'images', index: 0 };

/** Gives a message whose lease is changed for that, and says what of it was given, and given back. */
async function give(
  answerAfter: number,
  { lease = LEASE, status = 'settled' }: { lease?: number; status?: SettleStatus } = {},
): Promise<{ given: number; outcomes: Verdict[] }> {
  const clock = new ManualClock();
  const claimed = { storedId: 'a', token: 'e.1', delivery: 1, attempt: 1, weight: 0, dueAt: 0, envelope: '' };
  const delivery = new Delivery(PARTITION, claimed, clock.now() + 2 * LEASE);
  const outcomes: Verdict[] = [];
  const taken = {
    partition: PARTITION,
    async extend(): Promise<ExtendStatus[]> {
      delivery.leaseEndsAt = clock.now() + LEASE;
      await clock.advance(answerAfter);
      return ['extended'];
    },
    async settle(_: Delivery, verdict: Verdict): Promise<SettleStatus> {
      outcomes.push(verdict);
      return status;
    },
  };
  const consumer = { settings: {}, takenOf: () => taken } as unknown as TopicConsumer;
  const checked = Object.assign(delivery, { message: { maxAttempts: 3 } }) as unknown as CheckedDelivery;
  const handingOut = new HandingOut({ context: testContext({ clock }), timeout: 60_000 }, {} as ReceiptDesk);
  const received = { consumer, deliveries: [checked], lease };
  const messages = await handingOut.give(received, new AbortController().signal);
  return { given: messages.length, outcomes };
}

it('gives a message with the lease that was asked for', async () => {
  expect(await give(LEASE - 1)).toEqual({ given: 1, outcomes: [] });
});

it('gives no message whose lease has ended by the time it is known, but gives it back', async () => {
  expect(await give(LEASE)).toEqual({ given: 0, outcomes: [RELEASED] });
});

it('gives a message that needs no settle once it is acknowledged, and not if it was delivered again before', async () => {
  expect(await give(0, { lease: 0 })).toEqual({ given: 1, outcomes: [ACKED] });
  expect(await give(0, { lease: 0, status: 'stale' })).toEqual({ given: 0, outcomes: [ACKED] });
});
