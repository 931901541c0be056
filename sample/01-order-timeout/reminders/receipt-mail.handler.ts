import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { MailService } from './mail.service.js';
import { type Reminder, receiptMail } from './reminder.topics.js';

/** A flaky handler: the mail server fails for a while, until a retry succeeds. */
@Injectable()
export class ReceiptMailHandler {
  constructor(private readonly mail: MailService) {}

  @DelayedHandler(receiptMail, { attempts: 5, backoff: { type: 'fixed', delay: '300ms' } })
  async send({ item }: Reminder, message: DelayedMessage<Reminder>): Promise<void> {
    // The id is the same in every delivery, so only one mail is sent, even if the process dies before the acknowledgement.
    await this.mail.send({ idempotencyKey: message.id, text: `Thank you for your order of ${item}` });
  }
}
