import { describe, expect } from 'vitest';
import type { BrokerTest } from '../support/broker/broker-bed.js';

export function auditContract(it: BrokerTest): void {
  describe('appendAudit', () => {
    it('keeps records, the latest first, with their times', async ({ bed }) => {
      const before = Math.floor(await bed.time());
      for (const id of ['a', 'b', 'c']) await bed.broker.records.appendAudit({ id, text: `{"id":"${id}"}` });
      const after = await bed.time();
      const { records, next } = await bed.broker.records.auditRecords({ limit: 10 });

      expect(records.map(({ text }) => text)).toEqual(['{"id":"c"}', '{"id":"b"}', '{"id":"a"}']);
      expect(next).toBeUndefined();
      for (const { at } of records) {
        expect(at).toBeGreaterThanOrEqual(before);
        expect(at).toBeLessThanOrEqual(after);
      }
    });

    it('does not keep a repeat', async ({ bed }) => {
      await bed.broker.records.appendAudit({ id: 'a', text: 'first' });
      await bed.broker.records.appendAudit({ id: 'b', text: 'second' });
      await bed.broker.records.appendAudit({ id: 'a', text: 'first' });
      const { records } = await bed.broker.records.auditRecords({ limit: 10 });

      expect(records.map(({ text }) => text)).toEqual(['second', 'first']);
    });
  });

  describe('auditRecords', () => {
    it('answers each record once, page by page, whatever comes meanwhile', async ({ bed }) => {
      for (let i = 1; i <= 10; i++) await bed.broker.records.appendAudit({ id: `r${i}`, text: String(i) });
      const seen: string[] = [];
      let before: string | undefined;
      do {
        const { records, next } = await bed.broker.records.auditRecords({ before, limit: 4 });
        seen.push(...records.map(({ text }) => text));
        before = next;
        await bed.broker.records.appendAudit({ id: `new-${seen.length}`, text: 'new' });
      } while (before !== undefined);

      expect(seen).toEqual(['10', '9', '8', '7', '6', '5', '4', '3', '2', '1']);
    });

    it('has nothing where nothing was written', async ({ bed }) => {
      expect(await bed.broker.records.auditRecords({ limit: 5 })).toEqual({ records: [], next: undefined });
    });
  });
}
