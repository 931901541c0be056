import { describe, expect, it } from 'vitest';
import type { CallId, Partition } from '../../../../lib/store/partition.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { ChangeLane } from '../../../../lib/store/calls/change-lane.js';

const PARTITION: Partition = { topic: 'orders', index: 3 };
const TIMEOUT = 1000;

function open(): { clock: ManualClock; lane: ChangeLane } {
  const clock = new ManualClock();
  return { clock, lane: new ChangeLane({ clock, caller: 'me', partition: PARTITION, timeout: TIMEOUT }) };
}

/** A call whose answer the test gives. */
class PendingCall {
  readonly attempts: CallId[] = [];
  answer: (result: string) => void = () => {};

  readonly send = (_partition: Partition, call: CallId): Promise<string> => {
    this.attempts.push(call);
    return new Promise((resolve) => (this.answer = resolve));
  };
}

describe('ChangeLane', () => {
  it('names each call, says where it goes, and returns its answer', async () => {
    const { lane, clock } = open();
    const told: unknown[] = [];
    const send = async (...args: unknown[]): Promise<string> => {
      told.push(args);
      return `answer ${told.length}`;
    };

    expect(await lane.send(send)).toBe('answer 1');
    expect(await lane.send(send)).toBe('answer 2');

    expect(told).toEqual([
      [PARTITION, { caller: 'me', sequence: 1 }],
      [PARTITION, { caller: 'me', sequence: 2 }],
    ]);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('sends a call only once the one before is answered', async () => {
    const { lane, clock } = open();
    const [first, second] = [new PendingCall(), new PendingCall()];
    const results = [lane.send(first.send), lane.send(second.send)];
    await clock.advance(TIMEOUT / 2);
    expect(second.attempts).toEqual([]);

    first.answer('one');
    await clock.advance(0);
    expect(second.attempts).toEqual([{ caller: 'me', sequence: 2 }]);
    second.answer('two');

    expect(await Promise.all(results)).toEqual(['one', 'two']);
  });

  it('does not send a call whose time is up before its turn has come', async () => {
    const { lane, clock } = open();
    const [first, second] = [new PendingCall(), new PendingCall()];
    const failures = [lane.send(first.send), lane.send(second.send)].map(async (result) => result.catch(String));

    await clock.advance(TIMEOUT);

    expect(await Promise.all(failures)).toEqual([
      expect.stringContaining('No answer from Redis in time'),
      expect.stringContaining('Nothing was changed: for 1000 ms'),
    ]);
    expect(second.attempts).toEqual([]);
  });

  it('repeats a call under the same name', async () => {
    const { lane, clock } = open();
    const calls: CallId[] = [];
    const result = lane.send(async (_partition, call) => {
      calls.push(call);
      if (calls.length < 3) throw new BrokerUnavailableError('gone');
      return 'served';
    });
    await clock.advance(TIMEOUT / 2);

    expect(await result).toBe('served');
    expect(calls).toEqual(Array.from({ length: 3 }, () => ({ caller: 'me', sequence: 1 })));
  });

  it('continues with the next call after a failed one', async () => {
    const { lane } = open();
    const denied = new BrokerUnavailableError('denied', { transient: false });

    await expect(lane.send(() => Promise.reject(denied))).rejects.toBe(denied);
    expect(await lane.send(async (_partition, { sequence }) => sequence)).toBe(2);
  });

  it('counts the time that a call waits for the one before', async () => {
    const { lane, clock } = open();
    const first = lane.send(new PendingCall().send).catch((error: unknown) => error);
    await clock.advance(TIMEOUT - 100);
    let second: unknown;
    void lane.send(new PendingCall().send).catch((error: unknown) => (second = error));
    await clock.advance(100);
    expect(await first).toBeInstanceOf(BrokerUnavailableError);

    await clock.advance(TIMEOUT - 101);
    expect(second).toBeUndefined();
    await clock.advance(1);
    expect(second).toBeInstanceOf(BrokerUnavailableError);
  });
});
