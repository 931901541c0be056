import { topic } from 'nestjs-delay-queue';
import * as v from 'valibot';
import { z } from 'zod';

// What the other files here publish to and handle. The names in the map count in every file of this repository, so no other
// file may use them.

declare module 'nestjs-delay-queue' {
  interface DelayQueueTopics {
    'types.order': { orderId: string };
    'types.count': { count: number };
  }
}

export interface Order {
  readonly orderId: string;
}

export const typed = topic<Order>('types.typed');

export const untyped = topic('types.untyped');

/** Published without `count`, or with a time in words; handled with both, the time as a Date. */
export const parsed = topic('types.parsed', {
  schema: z.object({ orderId: z.string(), count: z.number().default(1), at: z.iso.datetime().pipe(z.coerce.date()) }),
});

export interface Parsed {
  orderId: string;
  count: number;
  at: Date;
}

/** Published as text, handled as a number. */
export const counted = topic('types.counted', { schema: v.pipe(v.string(), v.transform(Number), v.number()) });
