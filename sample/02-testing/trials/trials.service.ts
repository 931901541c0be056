import { randomUUID } from 'node:crypto';
import { Injectable, NotFoundException } from '@nestjs/common';
import { DelayQueueProducer, DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { MailService } from '../mail/mail.service.js';
import { PaymentGateway } from '../payments/payment.gateway.js';
import type { StartTrial, Trial } from './trial.interface.js';
import { type TrialMessage, trialEnd, trialReminder } from './trial.topics.js';

const PRICE = 900;

/** A trial of 30 days: a reminder after 7, and at the end a charge if there is a card. */
@Injectable()
export class TrialsService {
  private readonly trials = new Map<string, Trial>();

  constructor(
    private readonly producer: DelayQueueProducer,
    private readonly payments: PaymentGateway,
    private readonly mail: MailService,
  ) {}

  async start({ email, card }: StartTrial): Promise<Trial> {
    const id = randomUUID();
    // First the messages: messages without a trial do nothing, but a trial without messages would never end.
    const { dueAt } = await this.producer.publish(trialEnd, { trialId: id }, { id, delay: '30d' });
    await this.producer.publish(trialReminder, { trialId: id }, { id, delay: '7d' });
    const trial: Trial = { id, email, status: 'trial', endsAt: dueAt, ...(card && { card }) };
    this.trials.set(id, trial);
    return trial;
  }

  async cancel(id: string): Promise<void> {
    const trial = this.get(id);
    if (trial.status !== 'trial') return;
    trial.status = 'cancelled';
    await Promise.all([this.producer.cancel(trialEnd, id), this.producer.cancel(trialReminder, id)]);
  }

  get(id: string): Trial {
    const trial = this.trials.get(id);
    if (!trial) throw new NotFoundException(`There is no trial ${id}`);
    return trial;
  }

  @DelayedHandler(trialReminder)
  async remind({ trialId }: TrialMessage): Promise<void> {
    const trial = this.trials.get(trialId);
    if (trial?.status !== 'trial') return;
    await this.mail.send({ to: trial.email, text: `Your trial ends on ${trial.endsAt.toDateString()}` });
  }

  /** Nobody loses the subscription because the gateway is down for a day. */
  @DelayedHandler(trialEnd, { attempts: 5, backoff: { type: 'fixed', delay: '6h' }, timeout: '10s' })
  async end({ trialId }: TrialMessage, { id, signal }: DelayedMessage): Promise<void> {
    const trial = this.trials.get(trialId);
    if (trial?.status !== 'trial') return;
    if (trial.card === undefined) {
      trial.status = 'cancelled';
      return;
    }
    await this.payments.charge({ idempotencyKey: id, card: trial.card, amount: PRICE, signal });
    trial.status = 'subscribed';
  }
}
