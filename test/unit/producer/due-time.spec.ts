import { describe, expect, it } from 'vitest';
import type { DueTime } from '../../../lib/store/messages/publish.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { optionalTime } from '../../../lib/time/date.js';
import { checkedDueOptions, optionalDueTime, requiredDueTime } from '../../../lib/producer/due-time.js';
import { shown } from '../../support/shown.js';

const NOW = 1_767_225_600_000.25;
const TEN_YEARS = 315_576_000_000;

const CHECKS: Readonly<Record<string, (when: unknown) => DueTime | undefined>> = {
  optionalDueTime: (when) => optionalDueTime(when as object, checkedDueOptions('The options', when as object, ''), NOW),
  requiredDueTime: (when) => requiredDueTime(when as Parameters<typeof requiredDueTime>[0], NOW),
};

for (const [name, dueTime] of Object.entries(CHECKS)) {
  describe(`${name}()`, () => {
    for (const [when, due] of [
      [{ delay: 0 }, { after: 0 }],
      [{ delay: 1500 }, { after: 1500 }],
      [{ delay: '30m' }, { after: 1_800_000 }],
      [{ delay: 0.2 }, { after: 1 }],
      [{ delay: '10y' }, { after: TEN_YEARS }],
      [{ delay: 5, deliverAt: undefined }, { after: 5 }],
      [{ deliverAt: NOW + 0.5 }, { at: Math.floor(NOW) + 1 }],
      // What has passed neither comes before what has waited, nor is it late already.
      [{ deliverAt: NOW }, { after: 0 }],
      [{ deliverAt: 5.1 }, { after: 0 }],
      [{ deliverAt: 0 }, { after: 0 }],
      [{ deliverAt: -5000 }, { after: 0 }],
      [{ deliverAt: new Date(1_800_000_000_000) }, { at: 1_800_000_000_000 }],
      [{ deliverAt: new Date(-5) }, { after: 0 }],
      [{ deliverAt: Math.floor(NOW) + TEN_YEARS }, { at: Math.floor(NOW) + TEN_YEARS }],
    ] as const) {
      it(`reads ${shown(when)} as ${shown(due)}`, () => {
        expect(dueTime(when)).toEqual(due);
      });
    }

    for (const [when, text] of [
      [{ delay: -1 }, 'delay must be between 0 ms'],
      [{ delay: '-5m' }, 'delay must be between 0 ms'],
      [{ delay: NaN }, 'delay must be a duration'],
      [{ delay: Infinity }, 'delay must be between 0 ms'],
      [
        { delay: 'soon' },
        "delay must be a duration: milliseconds as a number, or a number with a unit, such as '30m' or '1h30m'. Units: ",
      ],
      [{ delay: '' }, 'delay must be a duration'],
      [{ delay: null }, 'delay must be a duration'],
      [{ delay: new Date() }, 'delay must be a duration'],
      [{ delay: TEN_YEARS + 1 }, 'delay must be between 0 ms and 10 years'],
      [{ delay: '11y' }, 'delay must be between 0 ms'],
      [
        { deliverAt: new Date(NaN) },
        'deliverAt must be a valid Date, epoch milliseconds, or { local, timeZone }. Given: Invalid Date.',
      ],
      [{ deliverAt: NaN }, 'deliverAt must be a valid Date'],
      [{ deliverAt: Infinity }, 'deliverAt must be a valid Date'],
      [{ deliverAt: -Infinity }, 'deliverAt must be a valid Date'],
      [{ deliverAt: '2026-01-01' }, 'deliverAt must be a valid Date'],
      [{ deliverAt: null }, 'deliverAt must be a valid Date'],
      [{ deliverAt: {} }, 'deliverAt.timeZone must be a time zone'],
      [{ deliverAt: { local: 'soon', timeZone: 'UTC' } }, 'deliverAt.local must be a date and time'],
      [{ deliverAt: 10n }, 'deliverAt must be a valid Date'],
      [{ deliverAt: NOW + TEN_YEARS + 1 }, 'deliverAt must be within 10 years from now'],
      [{ deliverAt: new Date(8.64e15) }, 'deliverAt must be within 10 years from now'],
      [{ delay: 5, deliverAt: 5 }, 'Give either delay or deliverAt, not both. Given: delay 5, deliverAt 5.'],
      [{ delay: 0, deliverAt: new Date(0) }, 'Give either delay or deliverAt'],
    ] as const) {
      it(`refuses ${shown(when)}`, () => {
        expect(() => dueTime(when)).toThrow(InvalidArgumentError);
        expect(() => dueTime(when)).toThrow(text);
      });
    }
  });
}

describe('a date of another library', () => {
  it.each([
    ['luxon', { toJSDate() {} }, 'toJSDate()'],
    ['moment or dayjs', { toDate() {} }, 'toDate()'],
    ['Temporal', { epochMilliseconds: NOW }, 'epochMilliseconds'],
  ])('is refused with the way to convert it: %s', (_, members, way) => {
    const date = Object.create(members) as Date;
    expect(() => requiredDueTime({ deliverAt: date }, NOW)).toThrow(`. Give its ${way}.`);
    expect(() => optionalTime('since', date)).toThrow(`. Give its ${way}.`);
  });
});

describe('if neither delay nor deliverAt is given', () => {
  for (const when of [{}, { delay: undefined }, { delay: undefined, deliverAt: undefined }]) {
    it(`optionalDueTime returns undefined, and requiredDueTime refuses: ${shown(when)}`, () => {
      expect(CHECKS['optionalDueTime']?.(when)).toBeUndefined();
      expect(() => CHECKS['requiredDueTime']?.(when)).toThrow(InvalidArgumentError);
      expect(() => CHECKS['requiredDueTime']?.(when)).toThrow(/^Give either delay or deliverAt\. Given: \{.*\}\.$/);
    });
  }
});

describe('requiredDueTime', () => {
  for (const [when, text] of [
    ['30m', "({ delay } or { deliverAt }) must be an object. Given: '30m'."],
    [5000, 'must be an object. Given: 5000.'],
    [null, 'must be an object. Given: null.'],
    [undefined, 'must be an object. Given: undefined.'],
    [[5], 'must be an object. Given: [ 5 ].'],
    [{ dealy: 5 }, "({ delay } or { deliverAt }). Did you mean 'delay'? Known options: delay, deliverAt."],
    [
      { delay: 5, id: 'a' },
      "no option 'id' in the new due time ({ delay } or { deliverAt }). Known options: delay, deliverAt.",
    ],
  ] as const) {
    it(`refuses ${shown(when)}: ${text}`, () => {
      expect(() => CHECKS['requiredDueTime']?.(when)).toThrow(InvalidArgumentError);
      expect(() => CHECKS['requiredDueTime']?.(when)).toThrow(text);
    });
  }

  it('does not accept a Date as options, and says what is wrong', () => {
    expect(() => CHECKS['requiredDueTime']?.(new Date(0))).toThrow(
      /Give either delay or deliverAt\. Given: 1970-01-01/,
    );
  });
});
