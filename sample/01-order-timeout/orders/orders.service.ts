import { randomUUID } from 'node:crypto';
import { ConflictException, Injectable, Logger, NotFoundException } from '@nestjs/common';
import { BrokerUnavailableError, DelayQueueProducer, DelayedHandler } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { type OrderTimeout, orderTimeout } from './order-timeout.topic.js';
import type { Order, OrderStatus, PlaceOrder } from './order.interface.js';

/**
 * An order is open until it is paid, cancelled or closed, and never changes after that.
 *
 * A payment may come in while the timeout message is being handled. The order's status decides, not the message: {@link end}
 * checks that the order is open and changes it in one step, so one of the two wins and the other sees that it lost.
 * This also makes a second delivery harmless, which "at least once" allows.
 */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);
  private readonly orders = new Map<string, Order>();

  constructor(
    private readonly producer: DelayQueueProducer,
    private readonly config: AppConfig,
  ) {}

  async place({ item }: PlaceOrder): Promise<Order> {
    const id = randomUUID();
    // First the message: a message without an order does nothing, but an order without a message would stay open forever.
    const { dueAt } = await this.producer.publish(
      orderTimeout,
      { orderId: id },
      { id, delay: this.config.paymentWindow },
    );
    const order: Order = { id, item, status: 'open', payBy: dueAt.toISOString() };
    this.orders.set(id, order);
    return order;
  }

  async pay(id: string): Promise<Order> {
    const order = this.endOrThrow(id, 'paid');
    await this.cancelTimeout(id);
    return order;
  }

  async cancel(id: string): Promise<Order> {
    const order = this.endOrThrow(id, 'cancelled');
    await this.cancelTimeout(id);
    return order;
  }

  list(): Order[] {
    return [...this.orders.values()];
  }

  get(id: string): Order {
    const order = this.orders.get(id);
    if (!order) throw new NotFoundException(`There is no order ${id}`);
    return order;
  }

  @DelayedHandler(orderTimeout)
  closeUnpaid({ orderId }: OrderTimeout): void {
    this.end(orderId, 'closed');
  }

  private endOrThrow(id: string, status: OrderStatus): Order {
    const order = this.end(id, status);
    if (!order) throw new ConflictException(`Order ${id} is ${this.get(id).status}`);
    return order;
  }

  /**
   * Has no `await`, so nothing can happen between check and change. With a database this would be
   * `UPDATE orders SET status = $2 WHERE id = $1 AND status = 'open'`.
   *
   * @returns undefined if the order is not open
   */
  private end(id: string, status: OrderStatus): Order | undefined {
    const order = this.orders.get(id);
    if (order?.status !== 'open') return undefined;
    const ended: Order = { ...order, status };
    this.orders.set(id, ended);
    return ended;
  }

  /** Avoids a delivery that would do nothing. If that fails, the payment still stands. */
  private async cancelTimeout(id: string): Promise<void> {
    try {
      await this.producer.cancel(orderTimeout, id);
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError)) throw error;
      this.logger.warn(`The timeout of order ${id} was not cancelled; it will do nothing: ${error.message}`);
    }
  }
}
