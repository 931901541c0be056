import { topic } from 'nestjs-delay-queue';

export interface OrderPlaced {
  readonly orderId: string;
}

/** On the default connection. Due when nobody can take the order back any more. */
export const orderPlaced = topic<OrderPlaced>('order.placed');
