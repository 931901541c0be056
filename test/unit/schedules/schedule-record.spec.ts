import { describe, expect, it } from 'vitest';
import {
  type DefinedSchedule,
  encodeDefinition,
  encodeState,
  isSameContent,
  readSchedule,
} from '../../../lib/schedules/schedule-record.js';

const ENVELOPE = '[1767268800000,{"of":"yesterday"}]';
const STATE = { paused: false, next: 1_767_268_800_000, last: undefined, missed: 3 };

const CRON: DefinedSchedule = {
  rule: { cron: '0 6 * * *', timeZone: 'Europe/Berlin', startAt: 1, endAt: undefined },
  catchUp: 'none',
  overlap: 'skip',
  key: 'Grüße',
  declared: true,
};
const INTERVAL: DefinedSchedule = {
  rule: { every: 1000, anchor: 5, startAt: undefined, endAt: 9 },
  catchUp: 'all',
  overlap: 'allow',
  key: 'k',
  declared: false,
};

function stored(state: string, definition: string) {
  return { id: 'report.daily', state, definition, envelope: ENVELOPE };
}

describe('a schedule as it is stored', () => {
  it.each([CRON, INTERVAL])('is read as it was written: $key', (defined) => {
    const text = stored(encodeState(STATE), encodeDefinition(defined));
    expect(readSchedule(text)).toEqual({ id: 'report.daily', stored: text, state: STATE, ...defined });
  });

  it.each([
    { paused: true, next: undefined, last: 5, missed: 0 },
    { paused: false, next: 0, last: undefined, missed: 1 },
  ])('has its state in a line: %j', (state) => {
    expect(encodeState(state)).toMatch(/^[\w-]+ (active|paused) (-|\d+) (-|\d+) \d+$/);
    expect(readSchedule(stored(encodeState(state), encodeDefinition(CRON))).state).toEqual(state);
  });

  it('reads a state to which a later version has added words', () => {
    const { state } = readSchedule(stored('rev active 5 - 0 more', encodeDefinition(CRON)));
    expect(state).toMatchObject({ paused: false, next: 5, last: undefined, missed: 0 });
  });

  it.each([CRON, INTERVAL])(
    'reads a definition to which a later version has added words, and keeps them: $key',
    (defined) => {
      const others = { jitter: 5, more: { of: 'it' } };
      const text = stored(encodeState(STATE), JSON.stringify({ ...others, ...JSON.parse(encodeDefinition(defined)) }));
      const read = readSchedule(text);
      expect(read).toMatchObject(defined);
      expect(isSameContent({ ...text, definition: encodeDefinition(read) }, text)).toBe(true);
      expect(isSameContent({ ...text, definition: encodeDefinition(defined) }, text)).toBe(false);
    },
  );

  it('keeps what a later version has added to the state', () => {
    const { state } = readSchedule(stored('rev active 5 - 0 more words', encodeDefinition(CRON)));
    expect(encodeState({ ...state, last: 5 })).toMatch(/ active 5 5 0 more words$/);
  });

  it('has another state with each write', () => {
    expect(encodeState(STATE)).not.toBe(encodeState(STATE));
  });

  it.each([
    '',
    'damaged',
    'rev stopped 5 - 0',
    'rev active x - 0',
    'rev active 99999999999999999 - 0',
    'rev active 8640000000000001 - 0',
    'rev active - -1 0',
    'rév active 5 - 0',
  ])('is refused with the state %j', (state) => {
    expect(() => readSchedule(stored(state, encodeDefinition(CRON)))).toThrow(
      "Schedule 'report.daily' cannot be read. Another program may have written over it.",
    );
  });

  it.each([
    '',
    'null',
    '[]',
    '{',
    '{}',
    encodeDefinition(INTERVAL).replace('1000', '1'),
    encodeDefinition(INTERVAL).replace('1000', '"1s"'),
    encodeDefinition(INTERVAL).replace('"anchor":5', '"anchor":-5'),
    encodeDefinition(CRON).replace('"startAt":1', '"startAt":"now"'),
    encodeDefinition(CRON).replace('"Europe/Berlin"', '7'),
    encodeDefinition(CRON).replace('"none"', '"some"'),
    encodeDefinition(CRON).replace('"skip"', '"later"'),
    encodeDefinition(CRON).replace('"Grüße"', 'null'),
    encodeDefinition(CRON).replace('true', '1'),
  ])('is refused with the definition %j', (definition) => {
    expect(() => readSchedule(stored(encodeState(STATE), definition))).toThrow('cannot be read');
  });

  it('is the same if only its time of publishing differs', () => {
    const content = { definition: encodeDefinition(CRON), envelope: ENVELOPE };
    expect(isSameContent(content, { ...content, envelope: '[1767268800009,{"of":"yesterday"}]' })).toBe(true);
    expect(isSameContent(content, { ...content, envelope: '[1767268800000,{"of":"today"}]' })).toBe(false);
    expect(isSameContent(content, { ...content, definition: encodeDefinition(INTERVAL) })).toBe(false);
  });
});
