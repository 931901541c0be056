import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Limits } from '../../lib/store/deliveries/limits.js';
import { AT_ONCE, type PermitReply, type PermitRequest } from '../../lib/store/deliveries/permits.js';
import { type BrokerBed, type BrokerTest, LONG } from '../support/broker/broker-bed.js';

/** A process that asks for permits of a topic of its own. */
class Asker {
  readonly session = `host:1:${randomUUID()}`;
  held = 0;
  used = 0;
  sequence = 0;
  readonly #bed: BrokerBed;
  readonly #topic: string;
  readonly #limits: Limits;

  constructor(bed: BrokerBed, limits: Limits, topic = bed.partition.topic) {
    this.#bed = bed;
    this.#limits = limits;
    this.#topic = topic;
  }

  async ask(wanted: number, fields: Partial<PermitRequest> = {}): Promise<PermitReply> {
    const request: PermitRequest = {
      session: this.session,
      sequence: ++this.sequence,
      limits: this.#limits,
      held: this.held,
      idle: Math.max(0, this.held - this.used),
      wanted,
      lease: LONG,
      patience: LONG,
      returned: [],
      ...fields,
    };
    const reply = await this.#bed.broker.deliveries.permit(this.#topic, request);
    this.held = reply.held;
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

const PER = 300;
const WINDOW = PER + AT_ONCE.slack;

export function permitsContract(it: BrokerTest): void {
  describe('permits of a rate', () => {
    it('are as many as may begin within its window', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 5, per: PER } });
      expect(await asker.ask(3)).toMatchObject({ permitted: 3, wait: undefined });
      const second = await asker.ask(3);
      expect(second.permitted).toBe(2);
      expect(second.wait).toBeGreaterThan(0);
      expect(second.wait).toBeLessThanOrEqual(WINDOW + 2);
      expect(await asker.ask(1)).toMatchObject({ permitted: 0 });
    });

    it('come free after the window, when they were said to', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 2, per: PER } });
      await asker.ask(2);
      const { permitted, wait = 0 } = await asker.ask(2);
      expect(permitted).toBe(0);
      await bed.advance(wait + 1);
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

    it('are shared out among those whose turn it is, by what they want', async ({ bed }) => {
      const limits = { rate: { max: 12, per: PER } };
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

    it('come in turn if there are fewer than processes that wait', async ({ bed }) => {
      const limits = { rate: { max: 1, per: PER } };
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

    it('are not kept for whoever does not come', async ({ bed }) => {
      const limits = { rate: { max: 1, per: PER } };
      const [a, b] = [new Asker(bed, limits), new Asker(bed, limits)];
      await a.ask(1);
      const { wait = 0 } = await b.ask(1);
      await a.ask(1);
      await bed.advance(wait + 110);
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

    it('are the same for a call that is made again, so that none of them is lost', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 5, per: LONG } });
      const { permitted, permittedAt, keep } = await asker.ask(3);
      expect(await asker.ask(3, { sequence: 1 })).toMatchObject({ permitted, permittedAt, keep });
      asker.sequence = 1;
      expect(await asker.ask(3, { returned: [{ permittedAt, count: 3 }] })).toMatchObject({ permitted: 3 });
    });

    it('begin as long after the call as was asked for, and no window has more', async ({ bed }) => {
      const begin = { lead: 40, slack: 10, ahead: 0 };
      const asker = new Asker(bed, { rate: { max: 2, per: PER } });
      const asked = await bed.time();
      const { begins } = await asker.ask(2, { begin });
      expect(begins?.from).toBeGreaterThan(asked + begin.lead - 20);
      expect(begins?.from).toBeLessThanOrEqual((await bed.time()) + begin.lead + 20);
      expect((begins?.until ?? 0) - (begins?.from ?? 0)).toBe(begin.slack);
      expect(begins?.lead).toBe(begin.lead);

      // The next ones may begin a window after the last moment at which those may.
      const { permitted, wait = 0 } = await asker.ask(1, { begin });
      expect(permitted).toBe(0);
      expect(wait).toBeLessThanOrEqual(PER + begin.slack + 3);
      await bed.advance(wait + 1);
      expect(await asker.ask(1, { begin })).toMatchObject({ permitted: 1 });
    });

    it('are there for a call that comes early by no more than its slack, and begin when they come free', async ({
      bed,
    }) => {
      const begin = { lead: 0, slack: 40, ahead: 30 };
      const asker = new Asker(bed, { rate: { max: 2, per: PER } });
      const first = await asker.ask(2, { begin });
      const { permitted, wait = 0 } = await asker.ask(1, { begin });
      expect(permitted).toBe(0);
      expect(wait).toBeLessThanOrEqual(PER + begin.slack + 3 - begin.ahead);
      await bed.advance(wait + 1);
      const early = await asker.ask(1, { begin });
      expect(early.permitted).toBe(1);
      expect(early.permittedAt).toBeGreaterThanOrEqual(first.permittedAt + PER + 1 + begin.slack);
    });

    it('are not asked for again at once by whoever asks early while they are kept for others', async ({ bed }) => {
      const limits = { rate: { max: 1, per: PER } };
      const [a, b, early] = [new Asker(bed, limits), new Asker(bed, limits), new Asker(bed, limits)];
      await a.ask(1);
      await b.ask(1);
      const { permitted, wait } = await early.ask(1, { begin: { lead: 500, slack: 600, ahead: 500 } });
      expect(permitted).toBe(0);
      expect(wait).toBeGreaterThanOrEqual(50);
    });

    it('refuse a copy of an older call', async ({ bed }) => {
      const asker = new Asker(bed, { rate: { max: 5, per: LONG }, inFlight: 3 });
      await asker.ask(2);
      await asker.ask(1);
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

    it('are used again by their holder', async ({ bed }) => {
      const a = new Asker(bed, { inFlight: 2 });
      await a.ask(2);
      a.used -= 1;
      expect(await a.ask(1)).toMatchObject({ permitted: 1 });
      expect((await a.ask(1)).permitted).toBe(0);
    });

    it('are over after a lease', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 2 }), new Asker(bed, { inFlight: 2 })];
      await a.ask(2, { lease: 60 });
      const { permitted, wait } = await b.ask(2);
      expect(permitted).toBe(0);
      expect(wait).toBeLessThanOrEqual(61);
      await bed.advance(65);
      expect(await b.ask(2)).toMatchObject({ permitted: 2 });
    });

    it('that are over are not kept once others have them, whatever their holder says or asks again', async ({
      bed,
    }) => {
      const [a, b] = [new Asker(bed, { inFlight: 3 }), new Asker(bed, { inFlight: 3 })];
      await a.ask(3, { lease: 60 });
      await bed.advance(65);
      await b.ask(2);
      // It has lost its answer.
      expect(await a.ask(3, { sequence: 1, held: 0, idle: 0 })).toMatchObject({ permitted: 3, held: 0 });
      a.sequence = 1;
      expect(await a.ask(3, { held: 3, idle: 3 })).toMatchObject({ permitted: 1, held: 1 });
    });

    it('that are over or lost are kept as others leave them, those in use first, and each time', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 3 }), new Asker(bed, { inFlight: 3 })];
      await b.ask(1);
      for (let time = 1; time <= 2; time++)
        expect(await a.ask(2, { held: 3, idle: 2 })).toMatchObject({ permitted: 1, held: 2 });
      expect((await b.ask(1)).permitted).toBe(0);
    });

    it('last while they are renewed', async ({ bed }) => {
      const [a, b] = [new Asker(bed, { inFlight: 2 }), new Asker(bed, { inFlight: 2 })];
      await a.ask(2, { lease: 500 });
      for (let passed = 0; passed < 600; passed += 50) {
        await bed.advance(50);
        await a.ask(0, { lease: 500 });
      }
      expect((await b.ask(2)).permitted).toBe(0);
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

    it('are not kept from others by one that was told of room and does not come', async ({ bed }) => {
      const [a, b, c] = [0, 1, 2].map(() => new Asker(bed, { inFlight: 1 })) as [Asker, Asker, Asker];
      await a.ask(5);
      await b.ask(5);
      expect(await a.end(1)).toMatchObject({ sessions: [b.session] });
      const { permitted, wait = 0 } = await c.ask(1);
      expect(permitted).toBe(0);
      expect(wait).toBeLessThanOrEqual(501);
      await bed.advance(wait + 1);
      expect(await c.ask(1)).toMatchObject({ permitted: 1 });
    });

    it('are fewer as soon as deliveries end, if the limit was lowered, whether others wait or not', async ({ bed }) => {
      const many = new Asker(bed, { inFlight: 10 });
      await many.ask(10);
      const few = new Asker(bed, { inFlight: 3 });
      const lowered = { limits: { inFlight: 3 } };
      expect(await many.ask(0, lowered)).toMatchObject({ keep: 3 });
      expect((await few.ask(1)).permitted).toBe(0);
      expect(await many.ask(0, lowered)).toMatchObject({ keep: 2 });
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
