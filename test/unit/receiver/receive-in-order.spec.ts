import { describe, expect, it, vi } from 'vitest';
import type { CheckedDelivery } from '../../../lib/consumer/delivery-check.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { type TopicRequest, receiveInOrder } from '../../../lib/receiver/receive-in-order.js';
import type { ReceiveRequest } from '../../../lib/receiver/waiting-receivers.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

type Pulled = TopicRequest['pulled'];

const REQUEST: ReceiveRequest = { max: 10, lease: 1000, wait: 0, signal: undefined };

/** A topic whose partitions are held, and that has messages. */
function held(...messages: string[]): Pulled {
  const left = messages as unknown as CheckedDelivery[];
  return {
    isOpen: true,
    open: async () => {},
    receive: async ({ max, mayTake = () => true }) => (left.length > 0 && mayTake() ? left.splice(0, max) : []),
  };
}

/** A topic that Redis lets nobody receive from. */
function refused(opening: Promise<void>) {
  return {
    isOpen: false,
    open: async () => opening,
    receive: vi.fn<Pulled['receive']>(async () => Promise.reject(DOWN)),
  };
}

const DOWN = new BrokerUnavailableError('Redis is away');

function receive(clock: ManualClock, ...topics: Pulled[]): Promise<CheckedDelivery[]> {
  return receiveInOrder(
    clock,
    topics.map((pulled) => ({ pulled, request: REQUEST })),
  );
}

describe('receiveInOrder', () => {
  it('answers what one topic has given though another one cannot be received from', async () => {
    const other = refused(Promise.reject(DOWN));
    expect(await receive(new ManualClock(), held('a', 'b'), other, held('c'))).toEqual(['a', 'b', 'c']);
    expect(other.receive).not.toHaveBeenCalled();
  });

  it('waits for partitions only before it claims anything, and not for long', async () => {
    const clock = new ManualClock();
    const first = held('a');
    const taken = vi.spyOn(first, 'receive');
    const received = receive(clock, first, refused(new Promise(() => {})));
    await new Promise(setImmediate);
    expect(taken).not.toHaveBeenCalled();
    await clock.advance(500);
    expect(await received).toEqual(['a']);
  });

  it('says why a topic cannot be received from if no other one has given anything', async () => {
    await expect(receive(new ManualClock(), held(), refused(Promise.reject(DOWN)))).rejects.toThrow(DOWN);
  });
});
