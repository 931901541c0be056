import * as fc from 'fast-check';
import { type ClaimResult, type ClaimedMessage, SUSPECT_ROOM } from '../../../lib/store/deliveries/claim.js';
import type { Receipt } from '../../../lib/store/deliveries/receipt.js';
import type { Outcome } from '../../../lib/store/deliveries/settle.js';
import { ownerOf } from '../../../lib/store/fleet/owner.js';
import { numberedToken } from '../../support/claim-record.js';
import { toFailure } from '../../../lib/messages/failure.js';
import { clear, deadLetter, keep, trim, trimFinished } from './kept.js';
import { hold, permit } from './limit-operations.js';
import {
  type Claimed,
  HOUR,
  type Memory,
  type Operation,
  PARTITION,
  type Passing,
  TAGS,
  hours,
  session,
  storedId,
} from './world.js';

const publish = fc
  .record({
    ids: fc.array(storedId, { minLength: 1, maxLength: 3 }),
    delay: hours,
    onDuplicate: fc.constantFrom('reject' as const, 'ignore' as const, 'replace' as const, 'earliest' as const),
    maxWait: fc.option(hours, { nil: undefined }),
    text: fc.nat(1000),
    repeated: fc.boolean(),
    tags: fc.option(fc.subarray([...TAGS]), { nil: undefined }),
  })
  .map(({ ids, delay, onDuplicate, maxWait, text, repeated, tags }): Operation => {
    const atMost = maxWait === undefined ? '' : `, at most ${maxWait} h after the first`;
    return {
      name: `publish ${ids.join()} in ${delay} h${atMost}, ${onDuplicate}, tags ${tags?.join()}${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const call = { caller: 'publisher', sequence: ++memory.sequence };
        const messages = ids.map((id) => ({
          storedId: id,
          envelope: `[0,"${id} ${text}"]`,
          due: { after: delay * HOUR },
          onDuplicate,
          maxWait: maxWait === undefined ? undefined : maxWait * HOUR,
          tags: id === 'two' ? undefined : tags,
        }));
        const terms = { order: memory.terms.order };
        const results = await broker.messages.publish(PARTITION, call, messages, terms);
        if (repeated) await broker.messages.publish(PARTITION, call, messages, terms);
        return results.map(({ status, finishedAs }) => [status, finishedAs]);
      },
    };
  });

/** For suspects. */
const room = fc.constantFrom(0, 1, SUSPECT_ROOM);

const claim = fc
  .record({
    session,
    max: fc.integer({ min: 1, max: 4 }),
    lease: fc.integer({ min: 0, max: 2 }),
    lost: fc.boolean(),
    room,
    picks: fc.array(fc.nat(), { maxLength: 3 }),
    sharesFrom: fc.constantFrom(undefined, 1, 2),
  })
  .map(({ session: by, max, lease, lost, room: given, picks, sharesFrom }): Operation => {
    const [more, end] = [picks.length > 0 ? `, ends ${picks.join()}` : '', lost ? ', and the reply is lost' : ''];
    return {
      name: `${by} claims up to ${max} for ${lease} h with room for ${given} suspects, shares from ${sharesFrom}${more}${end}`,
      run: async (broker, memory) => {
        const tenure = memory.tenures.get(by);
        if (!tenure) return 'never was the owner';
        const { owner, delivered } = tenure;
        const { finished, terms } = memory;
        const request = {
          ...terms,
          counts: true,
          owner,
          sequence: ++tenure.claims,
          delivered,
          max,
          // What is ordered, or limited in flight, is not delivered at most once.
          lease: (terms.order || terms.keyLimits?.inFlight ? Math.max(1, lease) : lease) * HOUR,
          room: given,
          finished,
          succeeded: chosen(memory, picks),
          sharesFrom,
        };
        memory.claims.push(request);
        if (lost) await broker.deliveries.claim(PARTITION, request);
        const result = await broker.deliveries.claim(PARTITION, request);
        if (result.status === 'not-owner') return result;
        tenure.delivered = result.delivered;
        const { grantedAt } = result;
        memory.claimed.push(...byId(result.messages).map((message) => ({ ...message, grantedAt })));
        return visible(result);
      },
    };
  });

/** A copy of an earlier claim arrives, whose reply nobody reads. */
const lateClaim = fc.nat().map((pick): Operation => {
  return {
    name: `a copy of claim ${pick} arrives`,
    run: async (broker, { claims }) => {
      const request = claims[pick % claims.length];
      return request ? visible(await broker.deliveries.claim(PARTITION, request)) : 'nobody has claimed yet';
    },
  };
});

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ kind: 'ack' }),
  hours.map((n): Outcome => ({ kind: 'retry', delay: n * HOUR, failure: toFailure('failed', 'no') })),
  fc.constant<Outcome>({ kind: 'dead', failure: toFailure('failed', 'never') }),
  fc.constant<Outcome>({ kind: 'dead', failure: toFailure('expired', 'not called'), spent: false }),
  fc.constant<Outcome>({ kind: 'release' }),
  // The fraction of a millisecond would decide whether a key that is to rest for none has rested at the same call.
  fc.record({ n: hours, scope: fc.constantFrom('message' as const, 'key' as const) }).map(({ n, scope }): Outcome => ({
    kind: 'put-off',
    delay: (scope === 'key' ? Math.max(1, n) : n) * HOUR,
    scope,
  })),
);

/** Settles deliveries of any earlier claim, so many settles are late. */
const settle = fc
  .record({
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    outcome,
    repeated: fc.boolean(),
    called: fc.boolean(),
    process: fc.constantFrom(undefined, 'host:1:uuid'),
  })
  .map(({ picks, outcome: of, repeated, called, process }): Operation => {
    return {
      name: `settle ${picks.join()} with ${of.kind}${called ? '' : ', not called'}${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const receipts = chosen(memory, picks);
        if (receipts.length === 0) return 'nothing was claimed yet';
        const call = { caller: 'settler', sequence: ++memory.sequence };
        const isUncalled = !called && (of.kind === 'release' || (of.kind === 'dead' && of.spent === false));
        const settlements = receipts.map(({ grantedAt, ...receipt }, i) => ({
          ...receipt,
          outcome: isUncalled ? { ...of, grantedAt } : of,
          duration: 10 * i,
        }));
        const statuses = await broker.deliveries.settle(PARTITION, call, settlements, process);
        if (repeated) return [statuses, await broker.deliveries.settle(PARTITION, call, settlements, process)];
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
        return receipts.length === 0
          ? 'nothing was claimed yet'
          : broker.deliveries.extend(PARTITION, lease * HOUR, receipts);
      },
    };
  });

const cancel = fc.record({ id: storedId, repeated: fc.boolean() }).map(({ id, repeated }): Operation => {
  return {
    name: `cancel ${id}${repeated ? ', twice' : ''}`,
    run: async (broker, memory) => {
      const call = { caller: 'changer', sequence: ++memory.sequence };
      const result = await broker.messages.cancel(PARTITION, call, id);
      return repeated ? [result, await broker.messages.cancel(PARTITION, call, id)] : result;
    },
  };
});

const cancelTagged = fc
  .record({ tag: fc.constantFrom(...TAGS), repeated: fc.boolean() })
  .map(({ tag, repeated }): Operation => {
    return {
      name: `cancel all with tag ${tag}${repeated ? ', twice' : ''}`,
      run: async (broker, memory) => {
        const call = { caller: 'changer', sequence: ++memory.sequence };
        const result = await broker.messages.cancelTagged(PARTITION, call, tag, undefined);
        return repeated ? [result, await broker.messages.cancelTagged(PARTITION, call, tag, undefined)] : result;
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
        const result = await broker.messages.reschedule(PARTITION, call, id, due);
        return repeated ? [result, await broker.messages.reschedule(PARTITION, call, id, due)] : result;
      },
    };
  });

const ownership = fc
  .record({ by: session, action: fc.constantFrom('acquire' as const, 'release' as const) })
  .map(({ by, action }): Operation => {
    return {
      name: `${by} ${action}s`,
      run: async (broker, memory) => {
        const tenure = memory.tenures.get(by);
        if (action === 'release') return tenure && broker.fleet.release(PARTITION, tenure.owner);
        const owner = ownerOf(`epoch-${++memory.sequence}`, by);
        const result = await broker.fleet.acquire(PARTITION, owner, memory.seen);
        memory.seen = result.acquired ? owner : result.owner;
        if (result.acquired) memory.tenures.set(by, { owner, claims: 0, delivered: 0 });
        return result;
      },
    };
  });

const locate = fc
  .constantFrom('one', 'same')
  .map((id): Operation => ({ name: `locate ${id}`, run: (broker) => broker.messages.locate(PARTITION, id) }));

const runNow = storedId.map((id): Operation => ({
  name: `run ${id} now`,
  run: (broker, memory) => broker.messages.runNow(PARTITION, { caller: 'changer', sequence: ++memory.sequence }, id),
}));

const passing = fc.integer({ min: 1, max: 3 }).map((n): Passing => ({ name: `${n} h pass`, hours: n }));

export const step: fc.Arbitrary<Operation | Passing> = fc.oneof(
  { arbitrary: publish, weight: 4 },
  { arbitrary: claim, weight: 5 },
  { arbitrary: lateClaim, weight: 2 },
  { arbitrary: settle, weight: 5 },
  { arbitrary: extend, weight: 2 },
  { arbitrary: cancel, weight: 2 },
  { arbitrary: cancelTagged, weight: 1 },
  { arbitrary: reschedule, weight: 3 },
  { arbitrary: ownership, weight: 3 },
  { arbitrary: locate, weight: 1 },
  { arbitrary: trim, weight: 1 },
  { arbitrary: runNow, weight: 1 },
  { arbitrary: deadLetter, weight: 2 },
  { arbitrary: clear, weight: 1 },
  { arbitrary: keep, weight: 2 },
  { arbitrary: trimFinished, weight: 1 },
  { arbitrary: hold, weight: 1 },
  { arbitrary: permit, weight: 3 },
  { arbitrary: passing, weight: 4 },
);

/** A repeated claim may find the deliveries in another order. */
function byId(messages: readonly ClaimedMessage[]): ClaimedMessage[] {
  return messages.toSorted((a, b) => (a.storedId < b.storedId ? -1 : 1));
}

/** The result without times, and whether or not deliveries share records. */
function visible(result: ClaimResult): unknown {
  if (result.status === 'not-owner') return result;
  const messages = byId(result.messages).map(({ dueAt: _dueAt, token, ...message }) => {
    return { ...message, token: numberedToken(token) };
  });
  return { status: result.status, delivered: result.delivered, due: result.due, ended: result.ended, messages };
}

function chosen({ claimed }: Memory, picks: readonly number[]): (Receipt & Pick<Claimed, 'grantedAt'>)[] {
  if (claimed.length === 0) return [];
  return picks.map((pick) => {
    const { storedId: id, token, grantedAt } = claimed[pick % claimed.length] as Claimed;
    return { storedId: id, token, grantedAt };
  });
}
