import { describe, expect, it } from 'vitest';
import type { SettleStatus } from '../../../lib/messages/settle-status.js';
import { fakeBroker } from '../../support/units/fake-broker.js';
import type { Outcome, Settlement } from '../../../lib/store/deliveries/settle.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { Delivery } from '../../../lib/consumer/delivery/delivery.js';
import { resolveMiddleware } from '../../../lib/middleware/middleware-layers.js';
import { Settler } from '../../../lib/consumer/delivery/settler.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { type Failure, toFailure } from '../../../lib/messages/failure.js';
import type { DelayQueueMiddleware, DeliveryOutcome } from '../../../lib/middleware/middleware.interface.js';
import { turns } from '../../support/units/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 3 };
const ACK: Outcome = { kind: 'ack' };

type Settle = NonNullable<DelayQueueMiddleware['settle']>;

/** A settler of one partition within the given functions; notes what the broker gets, and what is logged. */
class SettleBed {
  readonly calls: (readonly Settlement[])[] = [];
  readonly errors: string[] = [];
  readonly confirmed: string[] = [];
  readonly settler: Settler;
  /** What the broker answers for a message. */
  statusOf: (storedId: string) => SettleStatus = () => 'settled';
  /** Rejects settles until it is undefined. */
  brokerError: Error | undefined;

  constructor(...settles: Settle[]) {
    const broker = fakeBroker({
      deliveries: {
        settle: async (_partition, _call, settlements) => {
          this.calls.push(settlements);
          if (this.brokerError) throw this.brokerError;
          return settlements.map(({ storedId }) => this.statusOf(storedId));
        },
      },
    });
    const context: ConsumerContext = {
      broker,
      clock: new ManualClock(),
      log: { log: () => {}, warn: () => {}, error: (message) => this.errors.push(message) },
      events: { wants: () => false, emit: () => {} },
      session: 'me',
      settleLayers: resolveMiddleware(settles.map((settle) => ({ settle }))).settle,
    };
    this.settler = new Settler(context, PARTITION, {
      settled: ({ id }) => void this.confirmed.push(id),
      stale: () => {},
      done: () => {},
      waits: () => {},
      caughtUp: () => {},
    });
  }

  settle(id: string, outcome: Outcome = ACK, message?: DelayedMessage): void {
    const claimed = {
      storedId: id,
      envelope: '[0,null]',
      token: 'epoch.7',
      delivery: 2,
      attempt: 2,
      weight: 0,
      dueAt: 0,
    };
    const delivery = new Delivery(PARTITION, claimed, 1000);
    delivery.message = message;
    this.settler.settle(delivery, { outcome });
  }

  /** The ids of each call of the broker. */
  get sent(): string[][] {
    return this.calls.map((settlements) => settlements.map(({ storedId }) => storedId));
  }
}

describe('the layers around settles', () => {
  it('are none if no middleware settles, so that a settle costs nothing more', () => {
    expect(resolveMiddleware([]).settle).toBeUndefined();
    expect(
      resolveMiddleware([{ publish: async (_, next) => next() }, { handle: async (_, next) => next() }]).settle,
    ).toBeUndefined();
  });

  it('are called on their instance, and named by their place among all middleware', async () => {
    class Counter implements DelayQueueMiddleware {
      #calls = 0;

      async settle(_outcomes: readonly DeliveryOutcome[], next: () => Promise<unknown>): Promise<number> {
        await next();
        return ++this.#calls;
      }
    }

    const { settle: layers } = resolveMiddleware([{ handle: async (_, next) => next() }, new Counter()]);
    expect(layers?.map(({ name }) => name)).toEqual(['middleware[1].settle']);
    expect(await layers?.[0]?.call([], async () => [])).toBe(1);
  });
});

describe('a settle within middleware', () => {
  it('shows the intended outcome of each delivery of the call, and resolves with the result', async () => {
    const seen: (readonly DeliveryOutcome[])[] = [];
    const statuses: (readonly SettleStatus[])[] = [];
    const bed = new SettleBed(async (outcomes, next) => {
      seen.push(outcomes);
      statuses.push(await next());
    });
    bed.statusOf = (id) => (id === 'b' ? 'stale' : 'settled');
    const message = { id: 'a' } as DelayedMessage;
    const failure: Failure = toFailure('failed', new Error('boom'));
    bed.settle('a', ACK, message);
    bed.settle('b', { kind: 'retry', delay: 50, failure });
    bed.settle('c', { kind: 'dead', failure });
    bed.settle('d', { kind: 'put-off', delay: 20 });
    bed.settle('e', { kind: 'release' });
    await bed.settler.idle();

    const common = {
      topic: 'jobs',
      partition: 3,
      attempt: 2,
      message: undefined,
      delay: undefined,
      failure: undefined,
    };
    expect(seen).toEqual([
      [
        { ...common, id: 'a', key: 'a', outcome: 'ack', message },
        { ...common, id: 'b', key: 'b', outcome: 'retry', delay: 50, failure },
        { ...common, id: 'c', key: 'c', outcome: 'dead', failure },
        { ...common, id: 'd', key: 'd', outcome: 'put-off', delay: 20 },
        { ...common, id: 'e', key: 'e', outcome: 'release' },
      ],
    ]);
    expect(seen[0]?.[0]?.message).toBe(message);
    expect(statuses).toEqual([['settled', 'stale', 'settled', 'settled', 'settled']]);
    expect(bed.confirmed).toEqual(['a', 'c', 'd', 'e']);
    expect(bed.errors).toEqual([]);
  });

  it('surrounds the call, the first outermost, and each sees the answer of the broker, whatever the inner one returns', async () => {
    const steps: unknown[] = [];
    const bed = new SettleBed(
      async (_, next) => steps.push('a before', await next(), 'a after'),
      async (_, next) => steps.push('b before', await next(), 'b after'),
    );
    bed.settle('x');
    await bed.settler.idle();

    expect(steps).toEqual(['b before', ['settled'], 'b after', 'a before', ['settled'], 'a after']);
  });

  it('continues with the next call once the middleware is done', async () => {
    const leaving: (() => void)[] = [];
    const bed = new SettleBed(async (_, next) => {
      await next();
      await new Promise<void>((resolve) => leaving.push(resolve));
    });
    bed.settle('a');
    await turns(5);
    bed.settle('b');
    await turns(5);
    expect(bed.sent).toEqual([['a']]);
    leaving[0]?.();
    await turns(5);
    leaving[1]?.();
    await bed.settler.idle();

    expect(bed.sent).toEqual([['a'], ['b']]);
  });

  it.each<{ what: string; settle: Settle; fault: string }>([
    {
      what: 'throws before it goes on',
      settle: () => {
        throw new Error('boom');
      },
      fault: 'boom',
    },
    {
      what: 'throws after it went on',
      settle: async (_, next) => {
        await next();
        throw new Error('boom');
      },
      fault: 'boom',
    },
    { what: 'does not go on', settle: async () => [], fault: 'middleware[0].settle did not call next()' },
  ])('is made once where the middleware $what; that is logged once', async ({ settle, fault }) => {
    const bed = new SettleBed(settle);
    bed.settle('a');
    await bed.settler.idle();
    bed.settle('b');
    await bed.settler.idle();

    expect(bed.sent).toEqual([['a'], ['b']]);
    expect(bed.confirmed).toEqual(['a', 'b']);
    expect(bed.errors).toHaveLength(1);
    expect(bed.errors[0]).toContain("partition 3 of topic 'jobs'");
    expect(bed.errors[0]).toContain(fault);
  });

  it('is made once where the middleware goes on twice, or does not wait for it', async () => {
    const bed = new SettleBed(
      async (_, next) => [await next(), await next()],
      async (_, next) => void next(),
    );
    bed.settle('a');
    await bed.settler.idle();

    expect(bed.sent).toEqual([['a']]);
    expect(bed.confirmed).toEqual(['a']);
    expect(bed.errors).toEqual([]);
  });

  it('informs the middleware about settles that are given up, and does not blame it', async () => {
    const seen: unknown[] = [];
    const bed = new SettleBed(async (_, next) => {
      try {
        await next();
      } catch (error) {
        seen.push(error);
        throw error;
      }
    });
    bed.brokerError = new TypeError('no such script');
    bed.settle('a');
    await turns(5);
    await bed.settler.stop();

    expect(seen).toHaveLength(1);
    expect(bed.confirmed).toEqual([]);
    expect(bed.errors.join()).not.toContain('middleware');
  });
});
