import { describe, expect } from 'vitest';
import type { Heartbeat } from '../../lib/store/fleet/sessions.js';
import type { ProcessState, TopicWork } from '../../lib/store/records/process-records.js';
import { type BrokerTest, LONG } from '../support/broker/broker-bed.js';

const STATE: ProcessState = {
  since: 1_700_000_000_000,
  version: '1.2.3',
  clockOffset: -12,
  concurrency: 100,
  busy: 3,
  waiting: 1,
};

const NOTHING = { state: undefined, holdings: undefined };

const WORK: TopicWork = {
  topic: 'jobs',
  delivered: 12,
  acked: 9,
  retried: 2,
  dead: 1,
  maxLateness: 12.345,
  lateness: [0, 3, 17, 9],
};

const MINUTE = 28_333_333;

function heartbeatOf(session: string): Heartbeat {
  return { session, count: 1, length: LONG, digest: 'none' };
}

export function reportsContract(it: BrokerTest): void {
  describe('report', () => {
    it('is kept with the session, part by part', async ({ bed }) => {
      const holdings = { jobs: [0, 3], 'eu:mails': [] };
      for (const session of ['a', 'b']) await bed.broker.fleet.heartbeat(heartbeatOf(session));
      expect(await bed.broker.records.report({ session: 'a', number: 1, state: STATE })).toBe(true);
      expect(await bed.broker.records.reportedProcesses(['a', 'b'])).toEqual([
        { state: STATE, holdings: undefined },
        NOTHING,
      ]);

      expect(await bed.broker.records.report({ session: 'a', number: 2, holdings })).toBe(true);
      expect(await bed.broker.records.reportedProcesses(['b', 'a', 'a'])).toEqual([
        NOTHING,
        { state: STATE, holdings },
        { state: STATE, holdings },
      ]);

      await bed.broker.records.report({ session: 'a', number: 3, state: { ...STATE, busy: 0 } });
      expect(await bed.broker.records.reportedProcesses(['a'])).toEqual([{ state: { ...STATE, busy: 0 }, holdings }]);
    });

    it('goes with the session, and does not come back without it', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('a'));
      await bed.broker.records.report({ session: 'a', number: 1, state: STATE, holdings: { jobs: [1] } });
      await bed.broker.fleet.forget(['a']);

      expect(await bed.broker.records.report({ session: 'a', number: 2, state: STATE })).toBe(false);
      expect(await bed.broker.records.report({ session: 'never there', number: 1, state: STATE })).toBe(false);
      expect(await bed.broker.records.reportedProcesses(['a', 'never there'])).toEqual([NOTHING, NOTHING]);
    });

    it('may be repeated', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('a'));
      const report = { session: 'a', number: 1, state: STATE, holdings: { jobs: [1] } };
      await bed.broker.records.report(report);

      expect(await bed.broker.records.report(report)).toBe(true);
      expect(await bed.broker.records.reportedProcesses(['a'])).toEqual([{ state: STATE, holdings: { jobs: [1] } }]);
    });

    it('takes a large fleet', async ({ bed }) => {
      const sessions = Array.from({ length: 50 }, (_, i) => `host:${i}:0198c0de`);
      const holdings = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`topic-${i}`, [i % 8]]));
      for (const session of sessions) {
        await bed.broker.fleet.heartbeat(heartbeatOf(session));
        await bed.broker.records.report({ session, number: 1, state: STATE, holdings });
      }

      expect(await bed.broker.records.reportedProcesses(sessions)).toEqual(
        sessions.map(() => ({ state: STATE, holdings })),
      );
      expect(await bed.broker.records.reportedProcesses([])).toEqual([]);
    });
  });

  describe('reportWork', () => {
    it('is kept by minute, session and topic', async ({ bed }) => {
      const mails = { ...WORK, topic: 'mails', lateness: [] };
      await bed.broker.records.reportWork({ session: 'a', number: 1, minute: MINUTE, work: [WORK, mails] });
      await bed.broker.records.reportWork({ session: 'b', number: 1, minute: MINUTE, work: [WORK] });
      await bed.broker.records.reportWork({
        session: 'a',
        number: 2,
        minute: MINUTE + 1,
        work: [{ ...WORK, acked: 1 }],
      });

      expect(await bed.broker.records.reportedWork(MINUTE - 1)).toEqual([]);
      const all = await bed.broker.records.reportedWork(MINUTE);
      expect(all.toSorted((a, b) => (a.session + a.topic < b.session + b.topic ? -1 : 1))).toEqual([
        { ...WORK, session: 'a' },
        { ...mails, session: 'a' },
        { ...WORK, session: 'b' },
      ]);
      expect(await bed.broker.records.reportedWork(MINUTE, 'mails')).toEqual([{ ...mails, session: 'a' }]);
      expect(await bed.broker.records.reportedWork(MINUTE, 'ails')).toEqual([]);
      expect(await bed.broker.records.reportedWork(MINUTE + 1)).toEqual([{ ...WORK, acked: 1, session: 'a' }]);
    });

    it('replaces what was said of that minute before', async ({ bed }) => {
      await bed.broker.records.reportWork({ session: 'a', number: 1, minute: MINUTE, work: [WORK] });
      await bed.broker.records.reportWork({ session: 'a', number: 2, minute: MINUTE, work: [{ ...WORK, acked: 10 }] });

      expect(await bed.broker.records.reportedWork(MINUTE)).toEqual([{ ...WORK, acked: 10, session: 'a' }]);
    });

    it('adds what is new to the history, whichever process did it and however often it is told', async ({ bed }) => {
      const history = { span: 10, keep: 3_600_000 };
      const begin = MINUTE - (MINUTE % 10);
      const report = async (session: string, number: number, minute: number, work: Partial<TopicWork> = {}) =>
        bed.broker.records.reportWork({ session, number, minute, work: [{ ...WORK, ...work }], history });
      await report('a', 1, begin);
      await report('a', 2, begin, { delivered: 20, acked: 16, maxLateness: 5, lateness: [0, 3, 16, 2, 17, 15] });
      await report('b', 1, begin + 9, { maxLateness: 9_000_000, lateness: [8, 1, 9, 1, 96, 1, 97, 1] });
      await report('b', 2, begin + 10, { lateness: [] });
      // Less than before takes nothing away, but for lateness, which is told anew.
      await report('a', 3, begin, { delivered: 19, acked: 16, maxLateness: 5, lateness: [0, 3, 17, 15] });
      // One that has another setting is apart from it.
      const apart = { span: 5, keep: 3_600_000 };
      await bed.broker.records.reportWork({ session: 'd', number: 1, minute: begin, work: [WORK], history: apart });
      // One that keeps no history adds nothing.
      await bed.broker.records.reportWork({ session: 'c', number: 1, minute: begin, work: [WORK] });

      const spans = await bed.broker.records.historyOf('jobs', begin + 10);
      expect(spans.toSorted((a, b) => a.minute - b.minute || a.span - b.span)).toEqual([
        { ...WORK, minute: begin, span: 5, lateness: [8, 3, 20, 9] },
        {
          topic: 'jobs',
          minute: begin,
          span: 10,
          delivered: 32,
          acked: 25,
          retried: 4,
          dead: 2,
          maxLateness: 9_000_000,
          lateness: [8, 4, 12, 1, 20, 15, 96, 1, 164, 1],
        },
        { ...WORK, minute: begin + 10, span: 10, lateness: [] },
      ]);
      expect(await bed.broker.records.historyOf('jobs', begin + 9)).toHaveLength(2);
      expect(await bed.broker.records.historyOf('mails', begin + 10)).toEqual([]);
    });

    it('takes as many topics as a call has room for', async ({ bed }) => {
      const work = Array.from({ length: 200 }, (_, i) => ({ ...WORK, topic: `topic-${i}` }));
      for (let number = 1; number <= 10; number++) {
        await bed.broker.records.reportWork({ session: `s${number}`, number, minute: MINUTE, work });
      }

      expect(await bed.broker.records.reportedWork(MINUTE)).toHaveLength(2000);
      expect(await bed.broker.records.reportedWork(MINUTE, 'topic-7')).toHaveLength(10);
    });
  });
}
