import { DelayQueueModule, DelayQueueProducer, DelayQueueReceiver } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { START, boot, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

describe('receiving in virtual time', () => {
  it('gets what falls due, and again what was not settled within its lease', async () => {
    const harness = new DelayQueueHarness({ now: START });
    const { module } = await boot({ imports: [DelayQueueModule.forRoot()] }, harness);
    const receiver = module.get(DelayQueueReceiver);
    await module.get(DelayQueueProducer).publish('invoice.print', 1, { id: 'a', delay: '30m' });

    const first = receiver.receive('invoice.print', { wait: '1h', lease: '1m' });
    await harness.advance('30m');
    expect(await first).toMatchObject([{ id: 'a', payload: 1, attempt: 1 }]);
    expect(await receiver.receive('invoice.print', { wait: 0 })).toEqual([]);

    const again = receiver.receive('invoice.print', { wait: '1h', lease: '1m' });
    await harness.advance('1m');
    const [message] = await again;
    expect(await message?.ack()).toBe('settled');
    const none = receiver.receive('invoice.print', { wait: '1h' });
    await harness.advance('1h');
    expect(await none).toEqual([]);
  });
});
