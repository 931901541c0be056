import { topic } from 'nestjs-delay-queue';

export interface OrderTimeout {
  readonly orderId: string;
}

/** Due when an order's payment window ends. The message has the order's id, so that the order can cancel it. */
export const orderTimeout = topic<OrderTimeout>('order.timeout');
