import { describe, expect } from 'vitest';
import type { EventEntry, EventReader, ReadEntry } from '../../lib/store/records/event-log.interface.js';
import type { BrokerBed, BrokerTest } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

const KEEP = 1000;

function entry(sequence: number, fields: Partial<EventEntry> = {}): EventEntry {
  return { process: 'me', sequence, count: 2, dropped: 0, events: `[${sequence}]`, ...fields };
}

function read(sequence: number, fields: Partial<ReadEntry> = {}): ReadEntry {
  return { ...entry(sequence), missed: 0, ...fields };
}

function follow(bed: BrokerBed): { entries: Received<ReadEntry>; end: () => Promise<void> } {
  const entries = new Received<ReadEntry>();
  const reader: EventReader = {
    onEntry: entries.listener,
    onError: (error) => {
      throw error;
    },
  };
  return { entries, end: bed.broker.eventLog.follow(reader) };
}

export function eventLogContract(it: BrokerTest): void {
  describe('eventLog', () => {
    it('gives a reader all that is appended from then on, in order', async ({ bed }) => {
      const { eventLog } = bed.broker;
      await eventLog.append(entry(1), KEEP);
      const { entries } = follow(bed);
      for (let sequence = 2; sequence <= 50; sequence++) await eventLog.append(entry(sequence), KEEP);

      expect(await entries.atLeast(49)).toEqual(Array.from({ length: 49 }, (_, i) => read(i + 2)));
    });

    it('keeps what an entry says', async ({ bed }) => {
      const { entries } = follow(bed);
      const said = { process: 'host:1:x y', count: 7, dropped: 3, events: '[1,"ü \\u0000 \\n"]' };
      await bed.broker.eventLog.append(entry(9, said), KEEP);

      expect(await entries.atLeast(1)).toEqual([read(9, said)]);
    });

    it('gives every reader the same, until it ends', async ({ bed }) => {
      const { eventLog } = bed.broker;
      const [first, second] = [follow(bed), follow(bed)];
      await eventLog.append(entry(1), KEEP);
      for (const { entries } of [first, second]) expect(await entries.atLeast(1)).toEqual([read(1)]);
      await first.end();
      await first.end();
      await eventLog.append(entry(2), KEEP);

      expect(await second.entries.atLeast(2)).toEqual([read(1), read(2)]);
      expect(first.entries.all).toEqual([read(1)]);
    });

    it('takes the same entry twice; a reader sees by its sequence that it is the same', async ({ bed }) => {
      const { entries } = follow(bed);
      for (const sequence of [1, 1, 2]) await bed.broker.eventLog.append(entry(sequence), KEEP);

      expect(await entries.atLeast(3)).toEqual([read(1), read(1), read(2)]);
    });
  });
}
