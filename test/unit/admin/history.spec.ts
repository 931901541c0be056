import { expect, it } from 'vitest';
import { AdminBed, NOW, TOPIC } from '../../support/units/admin-bed.js';

const MINUTE = 60_000;
const BEGIN = Math.floor(NOW / MINUTE / 10) * 10;
const NONE = { topic: TOPIC, delivered: 1, acked: 0, retried: 0, dead: 0, maxLateness: 0, lateness: [] };

it('the history is in order, with how much of each span has passed, and with what this process has just done', async () => {
  let number = 0;
  const report = async (minute: number, span: number): Promise<void> => {
    const history = { span, keep: 86_400_000 };
    await bed.embedded.records.reportWork({ session: 's', number: ++number, minute, work: [NONE], history });
  };
  const bed: AdminBed = await AdminBed.open(1, undefined, { reportOwn: async () => report(BEGIN, 1) });
  await report(BEGIN, 10);
  await report(BEGIN - 20, 10);
  const spans = await bed.admin.history(TOPIC);
  expect(spans.map(({ at, seconds }) => [at.getTime() / MINUTE, seconds])).toEqual([
    [BEGIN - 20, 600],
    [BEGIN, 60],
    [BEGIN, NOW / 1000 - BEGIN * 60],
  ]);
});
