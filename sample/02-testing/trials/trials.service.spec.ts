import { once } from 'node:events';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MailService } from '../mail/mail.service.js';
import { FakePaymentGateway } from '../payments/fake-payment.gateway.js';
import { PaymentGateway } from '../payments/payment.gateway.js';
import { TrialsModule } from './trials.module.js';
import { TrialsService } from './trials.service.js';
import { trialEnd, trialReminder } from './trial.topics.js';

let module: TestingModule;
let harness: DelayQueueHarness;
let trials: TrialsService;
let mail: MailService;
let gateway: FakePaymentGateway;

beforeEach(async () => {
  gateway = new FakePaymentGateway();
  module = await Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot(), TrialsModule] })
    .overrideProvider(PaymentGateway)
    .useValue(gateway)
    .compile();
  await module.init();
  harness = module.get(DelayQueueHarness);
  trials = module.get(TrialsService);
  mail = module.get(MailService);
});

afterEach(async () => {
  await module.close();
});

describe('a trial', () => {
  it('schedules a reminder after 7 days and its end after 30', async () => {
    const { id, endsAt } = await trials.start({ email: 'ada@example.com' });

    expect(harness.published(trialReminder)).toMatchObject([{ id, payload: { trialId: id }, delay: 7 * 86_400_000 }]);
    expect(harness.published(trialEnd)).toMatchObject([{ id, payload: { trialId: id }, dueAt: endsAt }]);
  });

  it('sends a reminder, and ends by itself if there is no card', async () => {
    const trial = await trials.start({ email: 'ada@example.com' });

    await harness.advance('7d');
    expect(mail.sent).toMatchObject([{ to: 'ada@example.com' }]);
    expect(trial.status).toBe('trial');

    await harness.advanceTo(trial.endsAt);
    expect(trial.status).toBe('cancelled');
    expect(gateway.charges).toEqual([]);
  });

  it('becomes a subscription if there is a card', async () => {
    const trial = await trials.start({ email: 'ada@example.com', card: '4242' });

    await harness.advance('30d');

    expect(trial.status).toBe('subscribed');
    expect(gateway.charges).toMatchObject([{ idempotencyKey: trial.id, card: '4242', amount: 900 }]);
  });

  it('sends and charges nothing once it is cancelled', async () => {
    const { id } = await trials.start({ email: 'ada@example.com', card: '4242' });
    await trials.cancel(id);

    expect([...harness.scheduled(trialReminder), ...harness.scheduled(trialEnd)]).toEqual([]);
    await harness.advance('1y');
    expect([...mail.sent, ...gateway.charges]).toEqual([]);
  });

  it('passes in less than a second', async () => {
    const begin = performance.now();
    const trial = await trials.start({ email: 'ada@example.com', card: '4242' });
    await harness.advance('30d');
    const milliseconds = performance.now() - begin;

    expect(trial.status).toBe('subscribed');
    expect(milliseconds).toBeLessThan(1000);
    process.stdout.write(`    30 days of a trial passed in ${milliseconds.toFixed(1)} ms\n`);
  });
});

describe('a failing payment gateway', () => {
  it('is asked again every 6 hours, and the card is charged once', async () => {
    let failures = 2;
    gateway.before = () => {
      if (failures-- > 0) throw new Error('503 Service Unavailable');
    };
    const trial = await trials.start({ email: 'ada@example.com', card: '4242' });

    await harness.advance('30d');
    expect(trial.status).toBe('trial');
    expect(harness.scheduled(trialEnd)).toMatchObject([
      { attempts: 1, failure: { message: '503 Service Unavailable' } },
    ]);

    await harness.advance('12h');
    expect(trial.status).toBe('subscribed');
    expect(gateway.charges).toHaveLength(1);
  });

  it('leads to a dead letter if it fails for a whole day', async () => {
    gateway.before = () => {
      throw new Error('503 Service Unavailable');
    };
    const { id } = await trials.start({ email: 'ada@example.com', card: '4242' });

    await harness.advance('31d');

    expect(harness.deadLetters(trialEnd)).toMatchObject([
      { id, payload: { trialId: id }, attempts: 5, failure: { reason: 'failed', message: '503 Service Unavailable' } },
    ]);
  });

  it('does not block the trial if it does not answer', async () => {
    gateway.before = async ({ signal }) => {
      await once(signal, 'abort');
      signal.throwIfAborted();
    };
    const trial = await trials.start({ email: 'ada@example.com', card: '4242' });
    await harness.advanceTo(trial.endsAt);
    await harness.advance('10s');
    expect(harness.scheduled(trialEnd)).toMatchObject([{ failure: { code: 'HANDLER_TIMEOUT' } }]);

    gateway.before = () => {};
    await harness.advance('6h');
    expect(trial.status).toBe('subscribed');
  });
});

describe('a failing Redis', () => {
  it('does not let a trial start that would never end', async () => {
    harness.disconnect();
    const starting = trials.start({ email: 'ada@example.com' });

    const [outcome] = await Promise.allSettled([starting, harness.advance('5s')]);

    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'BROKER_UNAVAILABLE' } });
  });

  it('loses an answer, and the card is still charged only once', async () => {
    harness.failNext('settle', { lostReply: true });
    const trial = await trials.start({ email: 'ada@example.com', card: '4242' });

    await harness.advance('31d');

    expect(trial.status).toBe('subscribed');
    expect(gateway.charges).toHaveLength(1);
  });
});
