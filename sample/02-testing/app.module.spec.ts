import { Test } from '@nestjs/testing';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { expect, it } from 'vitest';
import { AppModule } from './app.module.js';
import { FakePaymentGateway } from './payments/fake-payment.gateway.js';
import { PaymentGateway } from './payments/payment.gateway.js';
import { TrialsService } from './trials/trials.service.js';

it('the whole application runs unchanged on a harness', async () => {
  const harness = new DelayQueueHarness({ now: new Date('2026-03-01') });
  const builder = Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(PaymentGateway)
    .useValue(new FakePaymentGateway());
  const app = (await harness.override(builder).compile()).createNestApplication({ logger: false });
  await app.init();

  const trial = await app.get(TrialsService).start({ email: 'ada@example.com', card: '4242' });
  await harness.advanceTo(new Date('2026-03-31'));

  expect(trial.status).toBe('subscribed');
  await app.close();
});
