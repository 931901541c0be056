import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueEvents, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { boot, useKitBed } from '../../support/kit/kit-bed.js';

const IMPORTS = [DelayQueueModule.forRoot({ topics: { pings: { delivery: 'at-most-once' } } })];

@Injectable()
class Pings {
  readonly called: string[] = [];

  @DelayedHandler('pings')
  async handle(payload: string): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.called.push(payload);
    if (payload === 'throw') throw new Error('boom');
  }
}

useKitBed();

describe('delivery at most once on the testing kit', () => {
  it('is waited for by the clock', async () => {
    const harness = new DelayQueueHarness();
    const { module } = await boot({ imports: IMPORTS, providers: [Pings] }, harness);
    await module.get(DelayQueueProducer).publish('pings', 'a', { delay: '1h' });
    await harness.advance('1h');

    expect(module.get(Pings).called).toEqual(['a']);
    expect(harness.scheduled('pings')).toEqual([]);
  });

  it('is tried once', async () => {
    const harness = new DelayQueueHarness();
    const { module } = await boot({ imports: IMPORTS, providers: [Pings] }, harness);
    const sources: string[] = [];
    module.get(DelayQueueEvents).errors.subscribe(({ source }) => sources.push(source));
    await module.get(DelayQueueProducer).publish('pings', 'throw');
    await harness.advance('1d');

    expect(module.get(Pings).called).toEqual(['throw']);
    expect(harness.deadLetters('pings')).toEqual([]);
    expect(sources).toEqual(['handler']);
  });

  it('is neither lost nor doubled if the answer to its claim is lost', async () => {
    const harness = new DelayQueueHarness();
    const { module } = await boot({ imports: IMPORTS, providers: [Pings] }, harness);
    for (const payload of ['a', 'b', 'c'])
      await module.get(DelayQueueProducer).publish('pings', payload, { delay: 10 });
    harness.failNext('claim', { lostReply: true, times: 2 });
    await harness.advance('1h');

    expect(module.get(Pings).called.toSorted()).toEqual(['a', 'b', 'c']);
  });
});
