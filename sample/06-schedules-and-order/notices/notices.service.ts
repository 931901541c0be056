import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueProducer, topic } from 'nestjs-delay-queue';

interface Notice {
  readonly customer: string;
  readonly change: string;
}

const customerNotice = topic<Notice>('customer.notice');

@Injectable()
export class NoticesService {
  readonly sent: Notice[] = [];

  constructor(private readonly producer: DelayQueueProducer) {}

  /** One notice after the last change, but not later than a second after the first. */
  async changed(customer: string, change: string): Promise<void> {
    await this.producer.publish(
      customerNotice,
      { customer, change },
      { id: customer, delay: '400ms', onDuplicate: 'replace', maxWait: '1s' },
    );
  }

  @DelayedHandler(customerNotice)
  send(notice: Notice): void {
    this.sent.push(notice);
  }
}
