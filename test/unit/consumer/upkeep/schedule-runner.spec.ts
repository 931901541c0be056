import { describe, expect, it, vi } from 'vitest';
import { ownerOf } from '../../../../lib/store/fleet/owner.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { Turns } from '../../../../lib/time/turns.js';
import { OWNER, PARTITION, SECOND, START, every, second, world } from '../../../support/units/schedule-world.js';

/** How many seconds ahead of their time occurrences are published. */
const AHEAD = 2;

const seconds = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, i) => second(first + i));

describe('ScheduleRunner', () => {
  it('publishes each occurrence two seconds ahead, due at its time, and asks for nothing in between', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    await one.start();
    await one.clock.advance(7_999);
    expect(one.published).toEqual([]);
    expect(one.calls).toEqual(['dueSchedules']);

    await one.clock.advance(1);
    expect(one.published).toEqual([second(10)]);
    await one.clock.advance(20 * SECOND);
    expect(one.published).toEqual([second(10), second(20), second(30)]);
    expect(one.of('published')).toMatchObject([
      { id: second(10), topic: 'jobs', partition: 0, dueAt: new Date(START + 10 * SECOND), duplicate: false },
      { id: second(20) },
      { id: second(30) },
    ]);
    expect(await one.stateOf('tick')).toEqual({
      paused: false,
      next: START + 40 * SECOND,
      last: START + 30 * SECOND,
      missed: 0,
    });
    expect(one.calls.filter((call) => call === 'dueSchedules')).toHaveLength(4);
  });

  it('looks every five minutes for what another program has taken away', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, undefined);
    await one.start();
    await one.clock.advance(900 * SECOND);
    expect(one.calls).toEqual(Array.from({ length: 4 }, () => 'dueSchedules'));
  });

  it('costs nothing where no schedule is', async () => {
    const one = await world();
    await one.start();
    await one.clock.advance(24 * 3600 * SECOND);
    expect(one.calls).toEqual(['dueSchedules']);
  });

  it('looks when it is told to', async () => {
    const one = await world();
    const runner = await one.start();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    runner.changed(START + 10 * SECOND);
    await one.clock.advance(10 * SECOND);
    expect(one.published).toEqual([second(10)]);
  });

  it('publishes nothing after it was stopped', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    const runner = await one.start();
    await runner.stop();
    runner.changed(START);
    await one.clock.advance(60 * SECOND);
    expect(one.published).toEqual([]);
    expect(one.clock.nextTimerAt).toBeUndefined();
  });

  it('publishes what another process left, if it is not late by more than a takeover takes', async () => {
    const one = await world();
    await one.store('tick', every(1), { catchUp: 'none' }, START + SECOND);
    one.clock.moveTo(START + 15 * SECOND);
    await one.start();
    expect(one.published).toEqual(seconds(1, 15 + AHEAD));
    expect(one.of('missed')).toEqual([]);
  });

  it.each([
    { catchUp: 'none', published: seconds(11, 30 + AHEAD), missed: 10, lines: 1 },
    { catchUp: 'latest', published: seconds(11, 30 + AHEAD), missed: 10, lines: 1 },
    { catchUp: 'all', published: seconds(1, 30 + AHEAD), missed: 0, lines: 0 },
  ] as const)('catches up after an outage: $catchUp', async ({ catchUp, published, missed, lines }) => {
    const one = await world();
    await one.store('tick', every(1), { catchUp }, START + SECOND);
    one.clock.moveTo(START + 30 * SECOND + 500);
    await one.start();
    expect(one.published).toEqual(published);
    expect(await one.stateOf('tick')).toMatchObject({ next: START + 33 * SECOND, missed });
    const event = { schedule: 'tick', reason: 'outage', occurrences: missed, first: new Date(START + SECOND) };
    expect(one.of('missed')).toMatchObject(missed > 0 ? [event] : []);
    expect(one.lines.filter((line) => line.includes('has missed'))).toHaveLength(lines);

    await one.clock.advance(500);
    expect(one.published).toEqual([...published, second(33)]);
  });

  it('catches up as many as there are, others in between', async () => {
    const one = await world();
    await one.store('tick', every(1), { catchUp: 'all' }, START + SECOND);
    await one.store('tock', every(3600), {}, START + 3600 * SECOND);
    one.clock.moveTo(START + 3600 * SECOND);
    await one.start();
    await one.clock.advance(1);
    expect(one.published).toHaveLength(3601 + AHEAD);
    expect(one.of('published').findIndex(({ id }) => id.startsWith('tock@'))).toBeLessThanOrEqual(100);
  });

  it('skips while an earlier one is not over', async () => {
    const one = await world();
    await one.store('tick', every(1), { overlap: 'skip' }, START + SECOND);
    await one.start();
    await one.clock.advance(3 * SECOND);
    expect(one.published).toEqual([second(1)]);
    expect(one.of('missed')).toMatchObject([
      { reason: 'overlap', occurrences: 1, first: new Date(START + 2 * SECOND), last: new Date(START + 2 * SECOND) },
      { reason: 'overlap', first: new Date(START + 3 * SECOND) },
    ]);
    expect(await one.stateOf('tick')).toMatchObject({ last: START + SECOND, missed: 2 });
    expect(one.lines).toEqual([]);
  });

  it('stops at the end of a schedule', async () => {
    const one = await world();
    const rule = { ...every(1), endAt: START + 2 * SECOND };
    await one.store('tick', rule, {}, START + SECOND);
    await one.start();
    await one.clock.advance(10 * SECOND);
    expect(one.published).toEqual([second(1), second(2)]);
    expect(await one.stateOf('tick')).toMatchObject({ paused: false, next: undefined });
    await one.clock.advance(3600 * SECOND);
    expect(one.published).toHaveLength(2);
  });

  it('says what it knows of a lost reply: the occurrence is published and told of once', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    await one.start();
    one.failOnce(new BrokerUnavailableError('lost'), { lostReply: true });
    await one.clock.advance(10 * SECOND + 100);
    expect(one.published).toEqual([second(10)]);
    expect(one.of('published')).toHaveLength(1);
  });

  it('publishes by one of two that both take themselves for the owner', async () => {
    const one = await world();
    await one.store('tick', every(1), {}, START + SECOND);
    await one.start();
    await one.start();
    await one.clock.advance(10 * SECOND);
    expect(one.published).toEqual(seconds(1, 10 + AHEAD));
    expect(one.of('published')).toHaveLength(10 + AHEAD);
  });

  it('says so if it does not own the partition any more', async () => {
    const one = await world();
    await one.store('tick', every(1), {}, START + SECOND);
    const runner = await one.start(ownerOf('old', 'me'));
    await one.clock.advance(SECOND);
    expect(one.lost.length).toBeGreaterThan(0);
    expect(one.lost[0]).toBe(OWNER);
    expect(one.published).toEqual([]);
    await runner.stop();
  });

  it('waits out an outage, with one warning, and then catches up', async () => {
    const one = await world();
    await one.store('tick', every(1), {}, START + SECOND);
    await one.start();
    await one.clock.advance(2 * SECOND);
    one.instead = async () => {
      throw new BrokerUnavailableError('gone');
    };
    await one.clock.advance(40 * SECOND);
    one.instead = async ({ run }) => run();
    await one.clock.advance(2 * SECOND);
    expect(one.lines.filter((line) => line.includes('wait'))).toEqual(["Schedules of topic 'jobs' wait: gone"]);
    expect(one.of('errors')[0]).toMatchObject({ source: 'schedule', topic: 'jobs', partition: 0 });
    const [, , , , fifth] = one.published;
    expect(Date.parse(String(fifth).slice('tick@'.length))).toBeGreaterThanOrEqual(START + 21 * SECOND);
    expect(one.of('missed')).toMatchObject([{ reason: 'outage' }]);
    const { occurrences = 0 } = one.of('missed')[0] ?? {};
    expect(one.published.length + occurrences).toBe(44 + AHEAD);
  });

  it('is silent about an outage where no schedule is', async () => {
    const one = await world();
    const runner = await one.start();
    one.instead = async () => {
      throw new BrokerUnavailableError('gone');
    };
    runner.changed(START);
    await one.clock.advance(10 * SECOND);
    expect([one.lines, one.events]).toEqual([[], []]);
    await runner.stop();
  });

  it.each([
    { what: 'a definition that cannot be read', spoil: { definition: '{"every":' } },
    {
      what: 'a cron expression that cannot be read',
      spoil: {
        definition:
          '{"cron":"99 * * * *","timeZone":"UTC","catchUp":"all","overlap":"allow","key":"a","declared":false}',
      },
    },
    {
      what: 'a time zone that does not exist',
      spoil: {
        definition: '{"cron":"* * * * *","timeZone":"No","catchUp":"all","overlap":"allow","key":"a","declared":false}',
      },
    },
    { what: 'a state with numbers that are no times', spoil: { state: `rev active ${START} 99999999999999999 0` } },
  ])('leaves $what alone, and goes on with the others', async ({ spoil }) => {
    const one = await world();
    await one.store('tick', every(1), {}, START + SECOND);
    const content = { definition: '', envelope: '[1,2]', ...spoil };
    const damaged = {
      id: 'bad',
      expected: undefined,
      state: `rev active ${START} - 0`,
      ...spoil,
      content,
      nextAt: START,
    };
    await one.embedded.schedules.putSchedule(PARTITION, { caller: 'another program', sequence: 1 }, damaged);
    await one.start();
    await one.clock.advance(3 * SECOND);
    expect(one.published).toEqual(seconds(1, 3 + AHEAD));
    expect(one.of('errors')).toMatchObject([{ source: 'schedule', topic: 'jobs', partition: 0 }]);
    expect(one.lines).toEqual([
      expect.stringMatching(
        /^Schedule 'bad' of topic 'jobs' is set aside, and is tried again at least every five minutes: /,
      ),
    ]);
    const [stored] = await one.embedded.schedules.getSchedules(PARTITION, ['bad']);
    expect(stored).toMatchObject({ state: damaged.state, definition: content.definition, nextAt: START });
  });

  it('tries again what was set aside as often as it says', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    await one.start();
    one.failOnce(new BrokerUnavailableError('NOPERM', { transient: false, refused: true }));
    await one.clock.advance(10 * SECOND);
    expect([one.published, one.lines]).toEqual([[], [expect.stringContaining('again at least every five minutes')]]);
    await one.clock.advance(300 * SECOND);
    expect(one.published).not.toEqual([]);
  });

  it('publishes no more of a schedule that the list has for another topic, and says so', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    await one.embedded.schedules.indexSchedule({ id: 'tick', topic: 'others', key: 'tick' });
    await one.start();
    await one.clock.advance(60 * SECOND);
    expect(one.published).toEqual([second(10)]);
    expect(await one.stateOf('tick')).toBeUndefined();
    expect(one.lines).toEqual([expect.stringMatching(/^Schedule 'tick' of topic 'jobs' .*'others'/)]);
  });

  it('has what many have missed counted in turns with everything else of the process', async () => {
    const one = await world();
    for (let i = 0; i < 20; i++) await one.store(`tick ${i}`, every(60), {}, START + 60 * SECOND);
    one.clock.moveTo(START + 3600 * SECOND);
    const turns = vi.spyOn(Turns.prototype, 'take');
    await one.start();
    expect(one.of('published')).toHaveLength(20);
    // One to tell what was missed, and one to publish the latest.
    expect(turns).toHaveBeenCalledTimes(40);
    turns.mockRestore();
  });

  it('goes on with the next look if something else fails, and says what', async () => {
    const one = await world();
    await one.store('tick', every(10), {}, START + 10 * SECOND);
    await one.start();
    one.failOnce(new TypeError('a fault'));
    await one.clock.advance(12 * SECOND);
    expect(one.published).toEqual([second(10)]);
    expect(one.lines).toEqual(["Schedules of topic 'jobs' wait: a fault"]);
  });
});
