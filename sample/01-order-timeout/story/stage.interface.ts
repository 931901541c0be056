import type { Order } from '../orders/order.interface.js';
import type { Checklist } from './checklist.js';
import type { DeliveryLog } from './delivery-log.js';
import type { ShopClient } from './shop.client.js';
import type { Timeline } from './timeline.js';

export interface Stage {
  readonly shop: ShopClient;
  readonly timeline: Timeline;
  readonly log: DeliveryLog;
  readonly checklist: Checklist;
}

/** The orders of the story, by their role. */
export interface Cast {
  readonly unpaid: readonly Order[];
  readonly paid: readonly Order[];
  readonly cancelled: Order;
  /** The paid order whose receipt and reminder were asked for. */
  readonly reminded: Order;
  /** When all payment windows have ended. */
  readonly curtain: Date;
}
