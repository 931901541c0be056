import { type Topic, type TopicRef, topic } from 'nestjs-delay-queue';
import { type } from 'arktype';
import { z } from 'zod';
import { type Order, type Parsed, counted, parsed, typed, untyped } from './topics.js';

export const inputAndOutput: Topic<{ orderId: string; count?: number | undefined; at: string }, Parsed> = parsed;
export const textAndNumber: Topic<string, number> = counted;
export const ofArkType: Topic<{ at: string }, { at: Date }> = topic('types.ark', {
  schema: type({ at: 'string.date.parse' }),
});
export const stated = topic<{ id: string }>('types.stated', { schema: z.object({ id: z.string() }) });

// @ts-expect-error the schema takes a text, and a number was stated
export const misstated = topic<{ id: number }>('types.misstated', { schema: z.object({ id: z.string() }) });

// @ts-expect-error this is no Standard Schema
export const noSchema = topic('types.none', { schema: { validate: () => true } });

// @ts-expect-error there is no such option
export const noOption = topic('types.none', { shema: z.string() });

// @ts-expect-error its payload has an orderId
export const other: Topic<{ count: number }> = typed;

/** Any topic, of whatever payload. */
export const anyTopics: readonly TopicRef[] = [typed, untyped, parsed, counted, 'types.order', 'types.free'];
export const alsoAny: readonly Topic<unknown>[] = [typed, untyped, parsed, counted];
export const given: TopicRef<Order> = typed;
