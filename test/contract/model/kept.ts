import * as fc from 'fast-check';
import { HOUR, type Operation, PARTITION, hours, storedId } from './world.js';

// What is kept though nobody will deliver it: dead letters and finished messages.

export const trim = fc
  .record({ maxAge: fc.option(hours, { nil: undefined }), maxCount: fc.option(fc.nat(2), { nil: undefined }) })
  .map(({ maxAge, maxCount }): Operation => {
    const limits = { maxAge: maxAge === undefined ? undefined : maxAge * HOUR + HOUR / 2, maxCount };
    return {
      name: `trim dead letters to ${maxAge} h and ${maxCount}`,
      run: async (broker) => {
        await broker.deadLetters.trimDead(PARTITION, limits);
      },
    };
  });

/** The owner's next claim tells the partition what to keep from then on. */
export const keep = fc
  .option(
    fc.record({ maxAge: fc.option(hours, { nil: undefined }), maxCount: fc.option(fc.nat(3), { nil: undefined }) }),
    {
      nil: undefined,
    },
  )
  .map((limits): Operation => {
    const finished = limits && {
      maxAge: limits.maxAge === undefined ? undefined : limits.maxAge * HOUR + HOUR / 2,
      maxCount: limits.maxCount,
    };
    return {
      name: `keep finished messages: ${JSON.stringify(limits)}`,
      run: async (_broker, memory) => {
        memory.finished = finished;
      },
    };
  });

export const trimFinished = fc.constant<Operation>({
  name: 'trim finished messages',
  run: async (broker) => {
    await broker.deadLetters.trimFinished(PARTITION);
  },
});

/** What an operator does with a dead letter, if the message is one. */
export const deadLetter = fc
  .record({ id: storedId, action: fc.constantFrom('requeue' as const, 'remove' as const), delay: hours })
  .map(({ id, action, delay }): Operation => {
    return {
      name: `${action} ${id} if it is dead`,
      run: async (broker, memory) => {
        const stored = await broker.messages.get(PARTITION, id);
        if (stored?.state !== 'dead') return 'it is not';
        const call = { caller: 'operator', sequence: ++memory.sequence };
        const death = { storedId: id, diedAt: stored.at };
        return action === 'remove'
          ? broker.deadLetters.removeDead(PARTITION, call, [death])
          : broker.deadLetters.requeueDead(PARTITION, call, [death], delay * HOUR);
      },
    };
  });

export const clear = fc.constantFrom('scheduled' as const, 'dead' as const).map((state): Operation => ({
  name: `clear what is ${state}`,
  run: (broker, memory) => broker.messages.clear(PARTITION, { caller: 'operator', sequence: ++memory.sequence }, state),
}));
