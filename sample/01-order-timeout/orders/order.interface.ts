export type OrderStatus = 'open' | 'paid' | 'cancelled' | 'closed';

export interface Order {
  readonly id: string;
  readonly item: string;
  readonly status: OrderStatus;
  /** When the order is closed if nobody has paid; ISO 8601. */
  readonly payBy: string;
}

export interface PlaceOrder {
  readonly item: string;
}
