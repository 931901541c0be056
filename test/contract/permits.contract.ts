import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Limits, PermitReply, PermitRequest } from '../../lib/broker/broker.interface.js';
import { PERMIT_LIFE } from '../../lib/broker/broker.interface.js';
import { type BrokerBed, type BrokerTest, LONG } from '../support/broker/broker-bed.js';

/** A process that asks for permits of a topic of its own. */
class Asker {
  readonly bed: BrokerBed;
  readonly session = `host:1:${randomUUID()}`;
  held = 0;
  used = 0;
  sequence = 0;
  readonly #topic: string;
  readonly #limits: Limits;

  constructor(bed: BrokerBed, limits: Limits, topic = bed.partition.topic) {
    this.bed = bed;
    this.#limits = limits;
    this.#topic = topic;
  }

  async ask(wanted: number, fields: Partial<PermitRequest> = {}): Promise<PermitReply> {
    const request: PermitRequest = {
      session: this.session,
      sequence: ++this.sequence,
      limits: this.#limits,
      held: this.held,
      idle: this.held - this.used,
      wanted,
      lease: LONG,
      patience: LONG,
      returned: [],
      ...fields,
    };
    const reply = await this.bed.broker.permit(this.#topic, request);
    this.held = request.held + Math.max(0, reply.permitted - request.idle);
    this.used += reply.permitted;
    return reply;
  }

  /** So many deliveries have ended, whose permits it gives back. */
  async end(count: number, wanted = 0): Promise<PermitReply> {
    this.used -= count;
    this.held = this.used;
    return this.ask(wanted);
  }
}

const PER = 100;
const WINDOW = PER + PERMIT_LIFE;

/** How long a permit of a rate is kept for whoever's turn it is, in milliseconds. */
const GRACE = 100;

export function permitsContract(it: BrokerTest): void {
  describe('permits of a rate', () => {
    it('are as many as may begin within its window', async ({ inTime }) => {
      await inTime(WINDOW, async (bed) => {
        const asker = new Asker(bed, { rate: { max: 5, per: PER } });
        expect(await asker.ask(3)).toMatchObject({ permitted: 3, wait: undefined });
        const second = await asker.ask(3);
        expect(second.permitted).toBe(2);
        expect(second.wait).toBeGreaterThan(0);
        expect(second.wait).toBeLessThanOrEqual(WINDOW + 2);
        expect(await asker.ask(1)).toMatchObject({ permitted: 0 });
      });
    });

    it('come free after the window, when they were said to', async ({ inTime }) => {
      const [asker, wait] = await inTime(WINDOW, async (bed) => {
        const asking = new Asker(bed, { rate: { max: 2, per: PER } });
        await asking.ask(2);
        const { permitted, wait: told = 0 } = await asking.ask(2);
        expect(permitted).toBe(0);
        return [asking, told] as const;
      });
      await asker.bed.advance(wait + 1);
      expect(await asker.ask(2)).toMatchObject({ permitted: 2 });
    });

    it('are of one topic', async ({ bed }) => {
      const [one, other] = [bed.partition.topic, randomUUID()].map(
        (topic) => new Asker(bed, { rate: { max: 1, per: LONG } }, topic),
      ) as [Asker, Asker];
      expect(await one.ask(1)).toMatchObject({ permitted: 1 });
      expect(await other.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('can be given back if no handler was called', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 3, per: LONG } });
      const { permittedAt } = await asker.ask(3);
      const returned = [{ permittedAt, count: 2 }];
      expect(await asker.ask(3, { returned })).toMatchObject({ permitted: 2 });
      expect(await asker.ask(3, { returned: [{ permittedAt: 5, count: 3 }] })).toMatchObject({ permitted: 0 });
    });

    it('are shared out among those whose turn it is, by what they want', async ({ inTime }) => {
      const limits = { rate: { max: 12, per: PER } };
      await inTime(WINDOW + GRACE, async (bed) => {
        const askers = [100, 100, 2].map((wanted) => ({ wanted, asker: new Asker(bed, limits) }));
        await new Asker(bed, limits).ask(12);
        let longest = 0;
        for (const { asker, wanted } of askers) {
          const { permitted, wait = 0 } = await asker.ask(wanted);
          expect(permitted).toBe(0);
          longest = Math.max(longest, wait);
        }
        await bed.advance(longest + 1);
        const shares: number[] = [];
        for (const { asker, wanted } of askers) shares.push((await asker.ask(wanted)).permitted);
        expect(shares).toEqual([5, 5, 2]);
      });
    });

    it('come in turn if there are fewer than processes that wait', async ({ inTime }) => {
      const limits = { rate: { max: 1, per: PER } };
      // The turns are a window apart, and each is kept for GRACE: all of it is late by half a window at most.
      await inTime(WINDOW + WINDOW / 2, async (bed) => {
        const [a, b, c] = [0, 1, 2].map(() => new Asker(bed, limits)) as [Asker, Asker, Asker];
        const turns: number[] = [];
        for (const asker of [a, b, c]) {
          const { permitted, wait = 0 } = await asker.ask(9);
          expect(permitted).toBe(asker === a ? 1 : 0);
          turns.push(wait);
        }
        const [first, second, third] = turns as [number, number, number];
        expect(first).toBeLessThanOrEqual(WINDOW + 2);
        expect(second).toBeGreaterThan(first + WINDOW / 2);
        expect(third).toBeGreaterThan(second + WINDOW / 2);

        await bed.advance(first + 1);
        // Whoever comes before its turn gets what is left by those whose turn it is.
        expect(await b.ask(9)).toMatchObject({ permitted: 0 });
        expect(await a.ask(9)).toMatchObject({ permitted: 1 });
      });
    });

    it('are not kept for whoever does not come', async ({ inTime }) => {
      const limits = { rate: { max: 1, per: PER } };
      const [a, wait] = await inTime(WINDOW, async (bed) => {
        const [comes, staysAway] = [new Asker(bed, limits), new Asker(bed, limits)];
        await comes.ask(1);
        const reply = await staysAway.ask(1);
        await comes.ask(1);
        return [comes, reply.wait ?? 0] as const;
      });
      await a.bed.advance(wait + GRACE + 10);
      expect(await a.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('that are given back are told to whoever waits', async ({ bed }) => {
      const limits = { rate: { max: 1, per: LONG } };
      const [a, b] = [new Asker(bed, limits), new Asker(bed, limits)];
      const { permittedAt } = await a.ask(1);
      await b.ask(1);
      const reply = await a.ask(0, { returned: [{ permittedAt, count: 1 }] });
      expect(reply.sessions).toEqual([b.session]);
      expect(await b.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('are given back once, also by a process that wants none any more', async ({ bed }) => {
      const limits = { rate: { max: 5, per: LONG } };
      const [a, b] = [new Asker(bed, limits), new Asker(bed, limits)];
      const { permittedAt } = await a.ask(4);
      const returned = [{ permittedAt, count: 2 }];
      await a.ask(0, { returned });
      // Others carry on what is known of its calls.
      expect(await b.ask(0)).toMatchObject({ permitted: 0 });
      await expect(a.ask(0, { returned, sequence: a.sequence })).rejects.toThrow(/OUTDATED|delayed/);
      expect(await b.ask(9)).toMatchObject({ permitted: 3 });
    });

    it('refuse a copy of an older call', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 5, per: LONG }, inFlight: 3 });
      await asker.ask(2);
      await expect(asker.ask(2, { sequence: 1 })).rejects.toThrow(/OUTDATED|delayed/);
    });

    it('of 1,000 within a window are kept', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 1000, per: LONG } });
      let permitted = 0;
      for (let n = 0; n < 15; n++) {
        permitted += (await asker.ask(90)).permitted;
        await bed.advance(2);
      }
      expect(permitted).toBe(1000);
    });
  });

  describe('permits to be in flight', () => {
    it('are as many as may be, whoever has them', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 5 }), new Asker(bed, { inFlight: 5 })];
      expect(await a.ask(4)).toMatchObject({ permitted: 4, wait: undefined, keep: undefined });
      expect((await b.ask(4)).permitted).toBe(1);
    });

    it('are free when their holder says so, and whoever waits is told', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 2 }), new Asker(bed, { inFlight: 2 })];
      await a.ask(2);
      expect((await b.ask(1)).permitted).toBe(0);
      expect((await a.end(2)).sessions).toEqual([b.session]);
      expect(await b.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('are not taken again by a delayed copy of an older call', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 3 }), new Asker(bed, { inFlight: 3 })];
      await a.ask(2);
      await a.end(2);
      await expect(a.ask(2, { sequence: 1, held: 0, idle: 0 })).rejects.toThrow(/OUTDATED|delayed/);
      expect(await b.ask(3)).toMatchObject({ permitted: 3 });
    });

    it('go to those that wait before whoever wanted none when it asked last', async ({ bed }) => {
      const limits = { inFlight: 1 };
      const [a, b, c] = [0, 1, 2].map(() => new Asker(bed, limits)) as [Asker, Asker, Asker];
      await a.ask(1);
      await a.end(1);
      await c.ask(1);
      for (const asker of [b, a]) expect(await asker.ask(1)).toMatchObject({ permitted: 0 });
      expect((await c.end(1)).sessions).toEqual([b.session]);
      expect(await a.ask(1)).toMatchObject({ permitted: 0 });
      expect(await b.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('are used again by their holder', async ({ bed }) => {
      const a = new Asker(bed, { inFlight: 2 });
      await a.ask(2);
      a.used -= 1;
      expect(await a.ask(1)).toMatchObject({ permitted: 1 });
      expect((await a.ask(1)).permitted).toBe(0);
    });

    it('are over after a lease', async ({ inTime }) => {
      const lease = 60;
      const b = await inTime(lease, async (bed) => {
        const [holder, waiting] = [0, 1].map(() => new Asker(bed, { inFlight: 2 })) as [Asker, Asker];
        await holder.ask(2, { lease });
        const { permitted, wait } = await waiting.ask(2);
        expect(permitted).toBe(0);
        expect(wait).toBeLessThanOrEqual(lease + 1);
        return waiting;
      });
      await b.bed.advance(lease + 5);
      expect(await b.ask(2)).toMatchObject({ permitted: 2 });
    });

    it('last while they are renewed', async ({ inTime }) => {
      const lease = 500;
      await inTime(2 * lease, async (bed) => {
        const [a, b] = [0, 1].map(() => new Asker(bed, { inFlight: 2 })) as [Asker, Asker];
        await a.ask(2, { lease });
        for (let passed = 0; passed < 600; passed += 50) {
          await bed.advance(50);
          await a.ask(0, { lease });
        }
        expect((await b.ask(2)).permitted).toBe(0);
      });
    });

    it('are shared: who has more than its share is asked, and told how many to keep', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 10 }), new Asker(bed, { inFlight: 10 })];
      await a.ask(10);
      const asked = await b.ask(100);
      expect(asked).toMatchObject({ permitted: 0, sessions: [a.session] });
      a.used -= 7;
      const told = await a.ask(100, { held: a.used, idle: 0 });
      expect(told).toMatchObject({ permitted: 2, keep: 5 });
      expect(await b.ask(100)).toMatchObject({ permitted: 5 });
    });

    it('go in turn if there are fewer than processes that wait', async ({ bed }) => {
      const [a, b, c] = [0, 1, 2].map(() => new Asker(bed, { inFlight: 1 })) as [Asker, Asker, Asker];
      await a.ask(5);
      await b.ask(5);
      await c.ask(5);
      // It gives its permit back, and wants it again.
      expect(await a.end(1, 5)).toMatchObject({ permitted: 0, sessions: [b.session] });
      expect((await c.ask(5)).permitted).toBe(0);
      expect((await b.ask(5)).permitted).toBe(1);
      await b.end(1, 5);
      expect((await c.ask(5)).permitted).toBe(1);
    });

    it('are counted as their holder says, after a lost reply too', async ({ bed }) => {
      const a = new Asker(bed, { inFlight: 4 });
      await a.ask(4);
      // It never learnt of them.
      a.held = 0;
      a.used = 0;
      expect(await a.ask(3)).toMatchObject({ permitted: 3 });
    });

    it('and those of a rate hold together', async ({ bed }) => {
      const a = new Asker(bed, { inFlight: 5, rate: { max: 3, per: LONG } });
      expect((await a.ask(5)).permitted).toBe(3);
      const b = new Asker(bed, { inFlight: 2, rate: { max: 3, per: LONG } }, randomUUID());
      expect((await b.ask(5)).permitted).toBe(2);
    });
  });
}
