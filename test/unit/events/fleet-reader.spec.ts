import { describe, expect, it } from 'vitest';
import type { EventReader, ReadEntry } from '../../../lib/store/records/event-log.interface.js';
import type { FleetEvent } from '../../../lib/events/fleet-event.js';
import { encodeEntry, encodeEvent } from '../../../lib/events/fleet-codec.js';
import { FleetReader } from '../../../lib/events/fleet-reader.js';

const AT = Date.UTC(2026, 0, 1);

/** An entry with one event, whose id is the sequence. */
function entry(process: string, sequence: number, fields: Partial<ReadEntry> = {}): ReadEntry {
  const delivery = { topic: 'jobs', partition: 0, id: `${sequence}`, key: 'k', attempt: 1 };
  const events = encodeEntry(AT, [encodeEvent('stale', delivery, 0)]);
  return { process, sequence, count: 1, dropped: 0, missed: 0, events, ...fields };
}

function start() {
  const events: FleetEvent[] = [];
  const errors: Error[] = [];
  let reader: EventReader | undefined;
  const log = {
    append: async () => {},
    follow: (given: EventReader) => {
      reader = given;
      return async () => void (reader = undefined);
    },
  };
  const end = new FleetReader(log, (error) => errors.push(error)).follow((event) => events.push(event));
  const told = () => events.map((event) => (event.kind === 'gap' ? event : `${event.process} ${idOf(event)}`));
  return { give: (given: ReadEntry) => reader?.onEntry(given), reader: () => reader, end, events, errors, told };
}

function idOf(event: FleetEvent): string {
  return 'id' in event ? event.id : '';
}

describe('FleetReader', () => {
  it('emits the events of all processes, in the order in which it gets them', () => {
    const { give, told } = start();
    for (const given of [entry('a', 1), entry('b', 7), entry('a', 2), entry('b', 8)]) give(given);
    expect(told()).toEqual(['a 1', 'b 7', 'a 2', 'b 8']);
  });

  it('leaves out an entry that was appended twice', () => {
    const { give, told } = start();
    for (const given of [entry('a', 1), entry('b', 1), entry('a', 1), entry('a', 2), entry('a', 2)]) give(given);
    expect(told()).toEqual(['a 1', 'b 1', 'a 2']);
  });

  it('reports what was removed, and what a process dropped', () => {
    const { give, told } = start();
    give(entry('a', 1));
    give(entry('a', 9, { missed: 12 }));
    give(entry('b', 3, { dropped: 4 }));
    give(entry('b', 3, { dropped: 4, missed: 1 }));
    expect(told()).toEqual([
      'a 1',
      { kind: 'gap', missed: 12, process: undefined },
      'a 9',
      { kind: 'gap', missed: 4, process: 'b' },
      'b 3',
      { kind: 'gap', missed: 1, process: undefined },
    ]);
  });

  it.each([
    'damaged',
    'null',
    '{}',
    '[5,7]',
    `[${AT},null]`,
    `[${AT},[0,0,"jobs",0]]`,
    `[${AT},[0,0,"jobs",0,"id","soon",0]]`,
    `[${AT},[1,0,"jobs",0,"id",null,1]]`,
    `[${AT},[10,0,"jobs",0,"tick","outage","many",0,0]]`,
    `[${AT},[8,1e300,"jobs",0,"id",null,1]]`,
    `["now",[8,0,"jobs",0,"id",null,1]]`,
  ])('continues after an unreadable entry, and reports it: %s', (events) => {
    const { give, told, errors } = start();
    give(entry('a', 1, { events }));
    give(entry('a', 2));
    expect(told()).toEqual([{ kind: 'gap', missed: 1, process: 'a' }, 'a 2']);
    expect(errors).toHaveLength(1);
  });

  it('ends on request', () => {
    const { reader, end } = start();
    expect(reader()).toBeDefined();
    end();
    expect(reader()).toBeUndefined();
  });
});
