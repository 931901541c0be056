import { describe, expect } from 'vitest';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { type FailedAttempt, toFailedAttempt } from '../../lib/messages/failure.js';
import { type BrokerBed, type BrokerTest, ACK, DEAD_UNCALLED, FAILURE, RELEASE } from '../support/broker/broker-bed.js';

/** Text that would break a careless parser of the record. */
const NASTY = '},{"history":[{"at":1}]} {[\\"\n\u0000 \u{1F600}';

function failedAttempt(attempt: number): FailedAttempt {
  return toFailedAttempt({ ...FAILURE, message: `${attempt} ${NASTY}` }, { at: 1000 + attempt, attempt, duration: 5 });
}

function failing(kind: 'retry' | 'dead', attempt: number): Outcome {
  const failed = {
    failure: { ...FAILURE, message: NASTY, lastError: { ...FAILURE, message: `"history":[${NASTY}` } },
    failedAttempt: failedAttempt(attempt),
  };
  return kind === 'retry' ? { kind, delay: 0, ...failed } : { kind, ...failed };
}

/** Lets a message that waits fail so many times. */
async function fail(bed: BrokerBed, times: number, last: 'retry' | 'dead' = 'retry'): Promise<void> {
  for (let i = 1; i <= times; i++) {
    const claimed = await bed.claimOne();
    await bed.settle(claimed, failing(i === times ? last : 'retry', claimed.attempt));
    await bed.advance(1);
  }
}

export function historyContract(it: BrokerTest): void {
  describe('the history of a message', () => {
    it('is empty before its first failure, and where it failed without a call', async ({ bed }) => {
      await bed.publish('a');
      expect(await bed.get('a')).toMatchObject({ failure: undefined, history: [] });
      await bed.settle(await bed.claimOne(), DEAD_UNCALLED);
      expect(await bed.get('a')).toMatchObject({ failure: { reason: 'expired' }, history: [] });
    });

    it('has the attempts that failed, the last one first', async ({ bed }) => {
      await bed.publish('a');
      await fail(bed, 3, 'dead');

      const stored = await bed.get('a');
      expect(stored).toMatchObject({ state: 'dead', failure: { message: NASTY } });
      expect(stored?.history).toEqual([failedAttempt(3), failedAttempt(2), failedAttempt(1)]);
    });

    it('is kept through releases, and where it dies without a call', async ({ bed }) => {
      await bed.publish('a');
      await fail(bed, 2);
      await bed.settle(await bed.claimOne(), RELEASE);
      await bed.settle(await bed.claimOne(), DEAD_UNCALLED);

      const stored = await bed.get('a');
      expect(stored?.failure).toMatchObject({ reason: 'expired' });
      expect(stored?.history).toEqual([failedAttempt(2), failedAttempt(1)]);
    });

    it('has the latest 10', async ({ bed }) => {
      await bed.publish('a');
      await fail(bed, 13, 'dead');

      const { history = [] } = (await bed.get('a')) ?? {};
      expect(history.map(({ attempt }) => attempt)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
      expect(history.at(-1)).toEqual(failedAttempt(4));
    });

    it('goes on where a dead letter is requeued, and begins anew where the message is replaced', async ({ bed }) => {
      await bed.publish('a');
      await fail(bed, 1, 'dead');
      const { at = NaN } = (await bed.get('a')) ?? {};
      const death = { storedId: 'a', diedAt: at };
      await bed.broker.deadLetters.requeueDead(bed.partition, bed.nextCall(), [death], 0);
      await bed.advance(1);
      await fail(bed, 1, 'dead');
      expect((await bed.get('a'))?.history).toHaveLength(2);

      await bed.publish('a', { onDuplicate: 'replace' });
      expect((await bed.get('a'))?.history).toEqual([]);
      await fail(bed, 1);
      expect((await bed.get('a'))?.history).toHaveLength(1);
      await bed.settle(await bed.claimOne(), ACK);
      expect(await bed.get('a')).toBeUndefined();
    });
  });
}
