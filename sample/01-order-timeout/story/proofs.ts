import assert from 'node:assert/strict';
import { orderTimeout } from '../orders/order-timeout.topic.js';
import type { Order, OrderStatus } from '../orders/order.interface.js';
import { receiptMail, shopReminder } from '../reminders/reminder.topics.js';
import { messageOf } from './narration.js';
import { ShopError } from './shop.client.js';
import type { Cast, Stage } from './stage.interface.js';

/** How long after the last due time everything must have happened, in milliseconds. */
const PATIENCE = 10_000;

/** In milliseconds, with room for a slow machine. */
const MAX_LATENESS = 500;

/** Checks each part of the story against the events of the queue and the orders that the API returns. */
export class Proofs {
  private readonly deadline: Date;

  constructor(
    private readonly stage: Stage,
    private readonly cast: Cast,
  ) {
    this.deadline = new Date(cast.curtain.getTime() + PATIENCE);
  }

  async checkAll(): Promise<void> {
    const { checklist } = this.stage;
    await checklist.check('a receipt that fails twice is mailed at the third attempt', () => this.receiptIsMailed());
    await checklist.check('a reminder that always fails is a dead letter with its error', () => this.reminderIsDead());
    await checklist.check('unpaid orders are closed when their payment window ends', () => this.unpaidAreClosed());
    await checklist.check('paid orders are left alone', () => this.areLeftAlone(this.cast.paid, 'paid'));
    await checklist.check('a cancelled order is left alone', () =>
      this.areLeftAlone([this.cast.cancelled], 'cancelled'),
    );
    await checklist.check('a closed order cannot be paid', () => this.closedCannotBePaid());
    await checklist.check(`no delivery was early, or more than ${MAX_LATENESS} ms late`, () => this.allWereOnTime());
  }

  private async receiptIsMailed(): Promise<void> {
    const deliveries = await this.stage.log.whole(receiptMail, this.cast.reminded, this.deadline);
    const endings = deliveries.map(({ ending }) => ending).join(', ');
    assert(endings === 'retried, retried, acked', `its deliveries ended: ${endings}`);
  }

  private async reminderIsDead(): Promise<void> {
    const deliveries = await this.stage.log.whole(shopReminder, this.cast.reminded, this.deadline);
    const [first, second, last] = deliveries;
    assert(first?.ending === 'retried' && second?.ending === 'retried', 'it was not retried twice');
    assert(last?.ending === 'dead', 'it is not dead after its third attempt');
    const { reason, message } = last.failure;
    assert(reason === 'failed' && message === messageOf(first.error), `what was kept is: ${reason}, ${message}`);
  }

  private async unpaidAreClosed(): Promise<void> {
    for (const order of this.cast.unpaid) {
      await this.stage.log.whole(orderTimeout, order, this.deadline);
      await this.expectStatus(order, 'closed');
    }
  }

  private async areLeftAlone(orders: readonly Order[], status: OrderStatus): Promise<void> {
    const { log, timeline } = this.stage;
    for (const other of this.cast.unpaid) await log.whole(orderTimeout, other, this.deadline);
    for (const order of orders) {
      assert(log.of(orderTimeout, order).length === 0, `the timeout of ${order.item} was delivered`);
      await this.expectStatus(order, status);
      timeline.tell(order.item, `its payment window is over: still ${status}`);
    }
  }

  private async closedCannotBePaid(): Promise<void> {
    for (const order of this.cast.unpaid) {
      const answer = await this.stage.shop.pay(order.id).catch((error: unknown) => error);
      assert(answer instanceof ShopError && answer.status === 409, `paying ${order.item} was not answered with 409`);
      await this.expectStatus(order, 'closed');
      this.stage.timeline.tell(order.item, 'its customer pays too late: 409');
    }
  }

  private async allWereOnTime(): Promise<void> {
    for (const { topic, attempt, lateness } of this.stage.log.all) {
      assert(lateness >= 0 && lateness <= MAX_LATENESS, `${topic}, attempt ${attempt}, was ${lateness} ms late`);
    }
  }

  private async expectStatus({ id, item }: Order, expected: OrderStatus): Promise<void> {
    const status = await this.stage.shop.statusOf(id);
    assert(status === expected, `${item} is ${status}`);
  }
}
