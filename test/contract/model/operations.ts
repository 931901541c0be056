import * as fc from 'fast-check';
import type { Broker, ClaimedMessage, Outcome, Partition } from '../../../lib/broker/broker.interface.js';
import { toFailure } from '../../../lib/messages/failure.js';

/** All delays are whole hours, so that the milliseconds that a test takes never decide what is due. */
export const HOUR = 3_600_000;

export const PARTITION: Partition = { topic: 'model', index: 0 };
export const MEMBERS = ['a', 'b'] as const;

/** Two ids without a key, and one id under two keys. */
export const STORED_IDS = ['one', 'two', 'same\0k1', 'same\0k2'] as const;

/** What a step knows about earlier steps; each broker has its own. */
export interface Memory {
  readonly claimed: ClaimedMessage[];
  readonly knownTokens: Map<string, number>;
  sequence: number;
}

/** One step on one broker. It has to return the same for both. */
export interface Operation {
  readonly name: string;
  run(broker: Broker, memory: Memory): Promise<unknown>;
}

/** A step in which time passes; how depends on the broker. */
export interface Passing {
  readonly name: string;
  readonly hours: number;
}

const storedId = fc.constantFrom(...STORED_IDS);
const hours = fc.integer({ min: 0, max: 3 });
const member = fc.constantFrom(...MEMBERS);

const publish = fc
  .record({
    ids: fc.array(storedId, { minLength: 1, maxLength: 3 }),
    delay: hours,
    onDuplicate: fc.constantFrom('reject' as const, 'ignore' as const, 'replace' as const),
    text: fc.nat(1000),
    repeated: fc.boolean(),
  })
  .map(({ ids, delay, onDuplicate, text, repeated }): Operation => {
    return {
      name: `publish ${ids.join()} in ${delay} h, ${onDuplicate}${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const call = { caller: 'publisher', sequence: ++memory.sequence };
        const messages = ids.map((id) => ({
          storedId: id,
          envelope: `[0,"${id} ${text}"]`,
          due: { after: delay * HOUR },
          onDuplicate,
        }));
        const results = await broker.publish(PARTITION, call, messages);
        if (repeated) await broker.publish(PARTITION, call, messages);
        return results.map(({ status }) => status);
      },
    };
  });

const claim = fc
  .record({ member, max: fc.integer({ min: 1, max: 4 }), lease: fc.integer({ min: 1, max: 2 }), lost: fc.boolean() })
  .map(({ member: by, max, lease, lost }): Operation => {
    return {
      name: `${by} claims up to ${max} for ${lease} h${lost ? ', and the reply is lost' : ''}`,
      run: async (broker, memory) => {
        const request = { member: by, max, lease: lease * HOUR, knownToken: memory.knownTokens.get(by) ?? 0 };
        if (lost) await broker.claim(PARTITION, request);
        const result = await broker.claim(PARTITION, request);
        if (result.status === 'not-owner') return result;
        memory.knownTokens.set(by, result.token);
        // A repeated claim may find the deliveries in another order.
        const claimed = result.messages.toSorted((a, b) => a.token - b.token);
        memory.claimed.push(...claimed);
        return claimed.map(({ storedId: id, envelope, token, delivery, attempt }) => {
          return { id, envelope, token, delivery, attempt };
        });
      },
    };
  });

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ kind: 'ack' }),
  hours.map((n): Outcome => ({ kind: 'retry', delay: n * HOUR, failure: toFailure('failed', 'no') })),
  fc.constant<Outcome>({ kind: 'dead', failure: toFailure('failed', 'never') }),
  fc.constant<Outcome>({ kind: 'dead', failure: toFailure('expired', 'not called'), spent: false }),
  fc.constant<Outcome>({ kind: 'release' }),
  hours.map((n): Outcome => ({ kind: 'put-off', delay: n * HOUR })),
);

/** Settles deliveries of any earlier claim, so many settles are late. */
const settle = fc
  .record({ picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), outcome, repeated: fc.boolean() })
  .map(({ picks, outcome: of, repeated }): Operation => {
    return {
      name: `settle ${picks.join()} with ${of.kind}${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const receipts = chosen(memory, picks);
        if (receipts.length === 0) return 'nothing was claimed yet';
        const call = { caller: 'settler', sequence: ++memory.sequence };
        const settlements = receipts.map((receipt) => ({ ...receipt, outcome: of }));
        const statuses = await broker.settle(PARTITION, call, settlements);
        if (repeated) return [statuses, await broker.settle(PARTITION, call, settlements)];
        return statuses;
      },
    };
  });

const extend = fc
  .record({ picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), lease: fc.integer({ min: 1, max: 3 }) })
  .map(({ picks, lease }): Operation => {
    return {
      name: `extend ${picks.join()} by ${lease} h`,
      run: async (broker, memory) => {
        const receipts = chosen(memory, picks);
        return receipts.length === 0 ? 'nothing was claimed yet' : broker.extend(PARTITION, lease * HOUR, receipts);
      },
    };
  });

const cancel = fc.record({ id: storedId, repeated: fc.boolean() }).map(({ id, repeated }): Operation => {
  return {
    name: `cancel ${id}${repeated ? ', twice' : ''}`,
    run: async (broker, memory) => {
      const call = { caller: 'changer', sequence: ++memory.sequence };
      const result = await broker.cancel(PARTITION, call, id);
      return repeated ? [result, await broker.cancel(PARTITION, call, id)] : result;
    },
  };
});

const reschedule = fc
  .record({ id: storedId, delay: hours, repeated: fc.boolean() })
  .map(({ id, delay, repeated }): Operation => {
    return {
      name: `reschedule ${id} to in ${delay} h${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const call = { caller: 'changer', sequence: ++memory.sequence };
        const due = { after: delay * HOUR };
        const result = await broker.reschedule(PARTITION, call, id, due);
        return repeated ? [result, await broker.reschedule(PARTITION, call, id, due)] : result;
      },
    };
  });

const ownership = fc
  .record({ by: member, action: fc.constantFrom('acquire' as const, 'renew' as const, 'release' as const) })
  .map(({ by, action }): Operation => {
    return {
      name: `${by} ${action}s`,
      run: async (broker, memory) => {
        if (action === 'release') return broker.release(PARTITION, by);
        if (action === 'renew') return (await broker.renew(PARTITION, by, 2 * HOUR)).owned;
        const result = await broker.acquire(PARTITION, by, 2 * HOUR);
        if (result.acquired) memory.knownTokens.set(by, result.token);
        return result.acquired ? result : result.acquired;
      },
    };
  });

const locate = fc
  .constantFrom('one', 'same')
  .map((id): Operation => ({ name: `locate ${id}`, run: (broker) => broker.locate(PARTITION, id) }));

const trim = fc
  .record({ maxAge: fc.option(hours, { nil: undefined }), maxCount: fc.option(fc.nat(2), { nil: undefined }) })
  .map(({ maxAge, maxCount }): Operation => {
    const limits = { maxAge: maxAge === undefined ? undefined : maxAge * HOUR + HOUR / 2, maxCount };
    return {
      name: `trim dead letters to ${maxAge} h and ${maxCount}`,
      run: async (broker) => {
        await broker.trimDead(PARTITION, limits);
      },
    };
  });

const passing = fc.integer({ min: 1, max: 3 }).map((n): Passing => ({ name: `${n} h pass`, hours: n }));

export const step: fc.Arbitrary<Operation | Passing> = fc.oneof(
  { arbitrary: publish, weight: 4 },
  { arbitrary: claim, weight: 5 },
  { arbitrary: settle, weight: 5 },
  { arbitrary: extend, weight: 2 },
  { arbitrary: cancel, weight: 2 },
  { arbitrary: reschedule, weight: 3 },
  { arbitrary: ownership, weight: 2 },
  { arbitrary: locate, weight: 1 },
  { arbitrary: trim, weight: 1 },
  { arbitrary: passing, weight: 4 },
);

function chosen({ claimed }: Memory, picks: readonly number[]): { storedId: string; token: number }[] {
  if (claimed.length === 0) return [];
  return picks.map((pick) => {
    const { storedId: id, token } = claimed[pick % claimed.length] as ClaimedMessage;
    return { storedId: id, token };
  });
}
