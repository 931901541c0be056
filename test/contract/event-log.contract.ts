import { describe, expect } from 'vitest';
import type { EventEntry, EventReader, ReadEntry } from '../../lib/broker/broker.interface.js';
import type { Bench, BrokerTest } from '../support/contract-bench.js';
import { Received } from '../support/contract-signals.js';

const KEEP = 1000;

function entry(sequence: number, fields: Partial<EventEntry> = {}): EventEntry {
  return { process: 'me', sequence, count: 2, dropped: 0, events: `[${sequence}]`, ...fields };
}

function read(sequence: number, fields: Partial<ReadEntry> = {}): ReadEntry {
  return { ...entry(sequence), missed: 0, ...fields };
}

function follow(bench: Bench): { entries: Received<ReadEntry>; end: () => Promise<void> } {
  const entries = new Received<ReadEntry>();
  const reader: EventReader = {
    onEntry: entries.listener,
    onError: (error) => {
      throw error;
    },
  };
  return { entries, end: bench.broker.eventLog.follow(reader) };
}

export function eventLogContract(it: BrokerTest): void {
  describe('eventLog', () => {
    it('gives a reader all that is appended from then on, in order', async ({ bench }) => {
      const { eventLog } = bench.broker;
      await eventLog.append(entry(1), KEEP);
      const { entries } = follow(bench);
      for (let sequence = 2; sequence <= 50; sequence++) await eventLog.append(entry(sequence), KEEP);

      expect(await entries.atLeast(49)).toEqual(Array.from({ length: 49 }, (_, i) => read(i + 2)));
    });

    it('keeps what an entry says', async ({ bench }) => {
      const { entries } = follow(bench);
      const said = { process: 'host:1:x y', count: 7, dropped: 3, events: '[1,"ü \\u0000 \\n"]' };
      await bench.broker.eventLog.append(entry(9, said), KEEP);

      expect(await entries.atLeast(1)).toEqual([read(9, said)]);
    });

    it('gives every reader the same, until it ends', async ({ bench }) => {
      const { eventLog } = bench.broker;
      const [first, second] = [follow(bench), follow(bench)];
      await eventLog.append(entry(1), KEEP);
      for (const { entries } of [first, second]) expect(await entries.atLeast(1)).toEqual([read(1)]);
      await first.end();
      await first.end();
      await eventLog.append(entry(2), KEEP);

      expect(await second.entries.atLeast(2)).toEqual([read(1), read(2)]);
      expect(first.entries.all).toEqual([read(1)]);
    });

    it('takes the same entry twice; a reader sees by its sequence that it is the same', async ({ bench }) => {
      const { entries } = follow(bench);
      for (const sequence of [1, 1, 2]) await bench.broker.eventLog.append(entry(sequence), KEEP);

      expect(await entries.atLeast(3)).toEqual([read(1), read(1), read(2)]);
    });
  });
}
