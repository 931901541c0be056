import { describe, expect } from 'vitest';
import type { Outcome } from '../../lib/broker/broker.interface.js';
import { type FailedAttempt, toFailedAttempt } from '../../lib/messages/failed-attempt.js';
import { type Bench, type BrokerTest, ACK, DEAD_UNCALLED, FAILURE, RELEASE } from '../support/contract-bench.js';

/** What would break a record that is not taken apart with care. */
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
async function fail(bench: Bench, times: number, last: 'retry' | 'dead' = 'retry'): Promise<void> {
  for (let i = 1; i <= times; i++) {
    const claimed = await bench.claimOne();
    await bench.settle(claimed, failing(i === times ? last : 'retry', claimed.attempt));
    await bench.advance(1);
  }
}

export function historyContract(it: BrokerTest): void {
  describe('the history of a message', () => {
    it('is empty before its first failure, and where it failed without a call', async ({ bench }) => {
      await bench.publish('a');
      expect(await bench.get('a')).toMatchObject({ failure: undefined, history: [] });
      await bench.settle(await bench.claimOne(), DEAD_UNCALLED);
      expect(await bench.get('a')).toMatchObject({ failure: { reason: 'expired' }, history: [] });
    });

    it('has the attempts that failed, the last one first', async ({ bench }) => {
      await bench.publish('a');
      await fail(bench, 3, 'dead');

      const stored = await bench.get('a');
      expect(stored).toMatchObject({ state: 'dead', failure: { message: NASTY } });
      expect(stored?.history).toEqual([failedAttempt(3), failedAttempt(2), failedAttempt(1)]);
    });

    it('is kept through releases, and where it dies without a call', async ({ bench }) => {
      await bench.publish('a');
      await fail(bench, 2);
      await bench.settle(await bench.claimOne(), RELEASE);
      await bench.settle(await bench.claimOne(), DEAD_UNCALLED);

      const stored = await bench.get('a');
      expect(stored?.failure).toMatchObject({ reason: 'expired' });
      expect(stored?.history).toEqual([failedAttempt(2), failedAttempt(1)]);
    });

    it('has the latest 10', async ({ bench }) => {
      await bench.publish('a');
      await fail(bench, 13, 'dead');

      const { history = [] } = (await bench.get('a')) ?? {};
      expect(history.map(({ attempt }) => attempt)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
      expect(history.at(-1)).toEqual(failedAttempt(4));
    });

    it('goes on where a dead letter is requeued, and begins anew where the message is replaced', async ({ bench }) => {
      await bench.publish('a');
      await fail(bench, 1, 'dead');
      const { at = NaN } = (await bench.get('a')) ?? {};
      const death = { storedId: 'a', diedAt: at };
      await bench.broker.requeueDead(bench.partition, bench.nextCall(), [death], 0);
      await bench.advance(1);
      await fail(bench, 1, 'dead');
      expect((await bench.get('a'))?.history).toHaveLength(2);

      await bench.publish('a', { onDuplicate: 'replace' });
      expect((await bench.get('a'))?.history).toEqual([]);
      await fail(bench, 1);
      expect((await bench.get('a'))?.history).toHaveLength(1);
      await bench.settle(await bench.claimOne(), ACK);
      expect(await bench.get('a')).toBeUndefined();
    });
  });
}
