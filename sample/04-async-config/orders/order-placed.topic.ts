import { topic } from 'nestjs-delay-queue';

export interface OrderPlaced {
  readonly orderId: string;
}

/** On the default connection. Due when the order can no longer be withdrawn. */
export const orderPlaced = topic<OrderPlaced>('order.placed');
