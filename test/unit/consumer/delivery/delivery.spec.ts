import { describe, expect, it } from 'vitest';
import type { ClaimedMessage } from '../../../../lib/store/deliveries/claim.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { DeliveryAbortedError, HandlerTimeoutError } from '../../../../lib/errors/handling.errors.js';
import { toStoredId } from '../../../../lib/messages/stored-id.js';

const CLAIMED: ClaimedMessage = {
  storedId: toStoredId('order-42', 'customer-7'),
  envelope: '[1,2]',
  token: 'epoch.9',
  delivery: 3,
  attempt: 2,
  weight: 0,
  dueAt: 1000,
};

function deliver(): Delivery {
  return new Delivery({ topic: 'orders', index: 4 }, CLAIMED, 5000);
}

describe('Delivery', () => {
  it('has its id and key, and its receipt', () => {
    expect(deliver()).toMatchObject({
      id: 'order-42',
      key: 'customer-7',
      storedId: CLAIMED.storedId,
      token: 'epoch.9',
      attempt: 2,
      dueAt: 1000,
      leaseEndsAt: 5000,
      settled: false,
    });
  });

  it('describes itself for events', () => {
    const described = { topic: 'orders', partition: 4, id: 'order-42', key: 'customer-7', attempt: 2 };

    expect(deliver().describe()).toEqual(described);
  });

  it('has one signal, which is not aborted', () => {
    const delivery = deliver();

    expect(delivery.signal.aborted).toBe(false);
    expect(delivery.signal).toBe(delivery.signal);
  });

  it('aborts its signal with the reason', () => {
    const delivery = deliver();
    const reason = new DeliveryAbortedError('LEASE_LOST');
    const { signal } = delivery;
    let told = 0;
    signal.addEventListener('abort', () => told++);
    delivery.abort(reason);

    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(reason);
    expect(told).toBe(1);
  });

  it('shows that it was aborted even if the signal is requested later', () => {
    const delivery = deliver();
    const reason = new HandlerTimeoutError(50);
    delivery.abort(reason);

    expect(delivery.signal.aborted).toBe(true);
    expect(delivery.signal.reason).toBe(reason);
    expect(delivery.signal.reason).toBe(reason);
  });

  it('keeps the first of several reasons', () => {
    for (const askBefore of [true, false]) {
      const delivery = deliver();
      expect(askBefore && delivery.signal.aborted).toBe(false);
      const first = new DeliveryAbortedError('CANCELLED');
      delivery.abort(first);
      delivery.abort(new DeliveryAbortedError('SHUTDOWN'));

      expect(delivery.signal.reason).toBe(first);
    }
  });
});
