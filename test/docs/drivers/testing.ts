import { Injectable, Module } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { expect, it, onTestFinished } from 'vitest';
import { DAY, boot } from '../../support/kit/kit-bed.js';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

@Injectable()
class Orders {
  readonly closedAt: Date[] = [];

  @DelayedHandler('order.timeout')
  close(): void {
    this.closedAt.push(new Date());
  }
}

export function testing(document: DrivenDocument): void {
  // A file of tests: they become tests of this one.
  document.drive('Testing #1', async (run) => void (await run()));
  document.drive('Testing #2', overriding);
  document.drive('Failures #1', outages);
  document.drive('Failures #2', tooFewReplicas);
  document.drive('Options of the harness #1', fakedDate);
}

function overriding(run: Run): void {
  it('tests an application as it is, without its Redis', async () => {
    @Module({ imports: [DelayQueueModule.forRoot({ redis: 'redis://redis.example.com' })], providers: [Orders] })
    class AppModule {}

    const declared = await run({ AppModule });

    const [harness, module] = [declared['harness'] as DelayQueueHarness, declared['module'] as TestingModule];
    onTestFinished(() => module.close());
    await module.get(DelayQueueProducer).publish('order.timeout', { orderId: '42' }, { delay: '30m' });
    await harness.advance('30m');
    expect(module.get(Orders).closedAt).toHaveLength(1);
  });
}

function outages(run: Run): void {
  it('sees a publish that fails, and one whose answer was lost', async () => {
    const { harness, producer } = await bootApplication();

    const { outcome } = await run({ harness, producer });

    expect(outcome).toMatchObject({ reason: { code: 'BROKER_UNAVAILABLE' } });
    expect(harness.scheduled('order.timeout')).toHaveLength(1);
  });
}

function tooFewReplicas(run: Run): void {
  it('sees a publish that no replica confirms', async () => {
    const { harness, producer } = await bootApplication();

    const { result } = await run({ harness, producer });

    expect(result).toMatchObject({ reason: { code: 'NOT_REPLICATED' } });
    expect(harness.scheduled('order.timeout')).toHaveLength(1);
  });
}

function fakedDate(run: Run): void {
  it('has a Date that follows the clock of the harness', async () => {
    const imports = await modulesMade(run, DelayQueueTestingModule);
    const { module } = await boot({ imports, providers: [Orders] });
    const begin = Date.now();
    const due = new Date(begin + 7 * DAY);
    await module.get(DelayQueueProducer).publish('order.timeout', { orderId: '42' }, { deliverAt: due });
    await module.get(DelayQueueHarness).advance('30d');

    expect(module.get(Orders).closedAt).toEqual([due]);
    expect(Date.now()).toBe(begin + 30 * DAY);
  });
}
