import { afterEach, describe, expect, it, vi } from 'vitest';
import { FleetBed, type TestProcess, failing, joined, two } from '../../support/units/fleet-bed.js';
import { HEARTBEAT } from '../../support/units/handling.js';
import { Gate } from '../../support/waiting.js';

/** How long a session lasts without a heartbeat. */
const LENGTH = 2 * HEARTBEAT;

afterEach(() => void vi.restoreAllMocks());

/** The times at which heartbeats are sent. */
function heartbeatsOf({ clock }: FleetBed, process: TestProcess): number[] {
  const sentAt: number[] = [];
  process.around = async ({ operation, run }) => {
    if (operation === 'heartbeat') sentAt.push(clock.now());
    return run();
  };
  return sentAt;
}

describe('Session', () => {
  describe('sends heartbeats', () => {
    it.each([
      { drawn: 0, period: 0.85 * HEARTBEAT },
      { drawn: 0.5, period: 0.9 * HEARTBEAT },
      { drawn: 1, period: 0.95 * HEARTBEAT },
    ])('after a share of the longest time that is drawn: $drawn', async ({ drawn, period }) => {
      vi.spyOn(Math, 'random').mockReturnValue(drawn);
      const bed = new FleetBed();
      const me = bed.process('me');
      const sentAt = heartbeatsOf(bed, me);
      await me.session.start();
      await bed.clock.advance(0);
      // Joining makes everybody look once more, itself included.
      sentAt.length = 0;
      await bed.clock.advance(5 * period);

      expect(sentAt.map((at) => Math.round(at - 1_000_000))).toEqual([1, 2, 3, 4, 5].map((i) => i * period));
    });

    it('with two calls each and an echo for every third, and nothing more, while nothing changes', async () => {
      const { bed, a, b } = await two();
      await bed.clock.advance(10 * HEARTBEAT);
      for (const process of [a, b]) {
        process.calls.length = 0;
        process.pings = 0;
      }
      await bed.clock.advance(100 * HEARTBEAT);

      for (const process of [a, b]) {
        const heartbeats = process.count('heartbeat');
        expect(heartbeats).toBeGreaterThanOrEqual(100);
        expect(heartbeats).toBeLessThanOrEqual(Math.ceil(100 / 0.85));
        expect(process.pings).toBe(heartbeats);
        expect(new Set(process.told)).toEqual(new Set(['echo']));
        expect(Math.abs(process.told.length - heartbeats / 3)).toBeLessThanOrEqual(1);
        expect(process.calls).toHaveLength(heartbeats + process.told.length);
      }
    });

    it('and has the partitions shared after each', async () => {
      const { bed, me } = await joined();
      await bed.clock.advance(10 * HEARTBEAT);

      expect(me.shares).toBe(me.count('heartbeat'));
    });

    it('when a session ends that is not renewed, not a heartbeat later', async () => {
      const { bed, a, b } = await two();
      await b.session.stop();
      a.session.refresh();
      await bed.clock.advance(0);
      const seenAt = bed.clock.now();
      await bed.clock.advance(LENGTH - 1);
      expect(a.session.handlersOf('jobs')).toEqual(['a', 'b']);
      await bed.clock.advance(2);

      expect(a.session.handlersOf('jobs')).toEqual(['a']);
      expect(a.session.renewedAt - seenAt).toBeLessThanOrEqual(LENGTH + 1);
    });

    it('says since when one waits for its answer, and when the latest was answered', async () => {
      const bed = new FleetBed();
      const me = bed.process('me');
      const gate = new Gate();
      me.around = async ({ operation, run }) => {
        if (operation === 'heartbeat') await gate.opened;
        return run();
      };
      const starting = me.session.start();
      const sentAt = bed.clock.now();
      await bed.clock.advance(300);
      expect([me.session.renewedAt, me.session.unansweredSince]).toEqual([sentAt, sentAt]);
      gate.open();
      await starting;

      expect([me.session.renewedAt, me.session.unansweredSince]).toEqual([sentAt + 300, undefined]);
    });

    it('says when one failed last since Redis did not serve it', async () => {
      const { bed, me } = await joined();
      expect(me.session.failedAt).toBeUndefined();
      me.around = failing('heartbeat');
      me.session.refresh();
      const failedAt = bed.clock.now();
      await bed.clock.advance(100);

      expect(me.session.failedAt).toBe(failedAt);
    });

    it('no more once it is stopped, not even if it is asked', async () => {
      const { bed, me } = await joined();
      await me.session.stop();
      const { length } = me.calls;
      me.session.refresh();
      await bed.clock.advance(10 * LENGTH);

      expect(me.calls).toHaveLength(length);
      expect(bed.clock.nextTimerAt).toBeUndefined();
    });
  });

  describe('while heartbeats fail', () => {
    it('tries again soon, and has one line an outage', async () => {
      const { bed, me } = await joined();
      me.around = failing('heartbeat');
      await bed.clock.advance(10 * HEARTBEAT);
      const failures = me.errors.length;
      expect(failures).toBeGreaterThanOrEqual(30);
      expect(me.errors[0]).toMatchObject({ source: 'membership', error: { code: 'BROKER_UNAVAILABLE' } });
      expect(me.lines).toEqual(['warn Heartbeats fail, so that no partition moves: gone']);
      me.around = async ({ run }) => run();
      await bed.clock.advance(HEARTBEAT);
      expect(me.errors).toHaveLength(failures);
      me.around = failing('heartbeat');
      await bed.clock.advance(10 * HEARTBEAT);

      expect(me.lines).toHaveLength(2);
    });

    it('starts all the same, and joins later', async () => {
      const bed = new FleetBed();
      const me = bed.process('me');
      me.around = failing('heartbeat');
      await me.session.start();
      expect(me.session.handlersOf('jobs')).toEqual([]);
      me.around = async ({ run }) => run();
      await bed.clock.advance(250);

      expect(me.session.handlersOf('jobs')).toEqual(['me']);
      expect([me.restores, me.told[0]]).toEqual([0, 'changed']);
    });

    it('logs what is no outage each time', async () => {
      const { bed, me } = await joined();
      me.around = async () => Promise.reject(new TypeError('a bug'));
      await bed.clock.advance(HEARTBEAT + 250);

      expect(me.lines).toEqual(['error A heartbeat failed', 'error A heartbeat failed']);
    });

    it('takes nobody for gone, and is taken for gone by those who are answered', async () => {
      const { bed, a, b } = await two();
      b.around = failing('heartbeat');
      await bed.clock.advance(10 * LENGTH);

      expect(a.session.handlersOf('jobs')).toEqual(['a']);
      expect(b.session.handlersOf('jobs')).toEqual(['a', 'b']);
      b.around = async ({ run }) => run();
      await bed.clock.advance(2 * HEARTBEAT);
      expect(a.session.handlersOf('jobs')).toEqual(['a', 'b']);
    });
  });

  describe('if others may have seen it end', () => {
    it('has looked whether they have taken its partitions, once, when its heartbeats are answered again', async () => {
      const { bed, me } = await joined();
      me.around = failing('heartbeat');
      await bed.clock.advance(LENGTH);
      expect(me.verifications).toBe(0);
      me.around = async ({ run }) => run();
      await bed.clock.advance(5 * HEARTBEAT);

      expect([me.verifications, me.restores]).toEqual([1, 0]);
    });

    it('has not if one heartbeat alone has failed', async () => {
      const { bed, me } = await joined();
      me.around = failing('heartbeat');
      await bed.clock.advance(HEARTBEAT);
      me.around = async ({ run }) => run();
      await bed.clock.advance(5 * HEARTBEAT);

      expect(me.errors.length).toBeGreaterThan(0);
      expect(me.verifications).toBe(0);
    });
  });

  describe('if others have forgotten it', () => {
    it('says its topics again, tells the others, and looks what it holds; nothing is lost', async () => {
      const { bed, me } = await joined();
      const tellings = () => me.told.filter((kind) => kind === 'changed').length;
      expect([me.verifications, me.count('rememberTopics'), tellings()]).toEqual([0, 1, 1]);
      await bed.broker.fleet.forget(['me']);
      await bed.clock.advance(HEARTBEAT);
      expect([me.verifications, me.count('rememberTopics'), tellings()]).toEqual([1, 2, 2]);
      await bed.clock.advance(2 * HEARTBEAT);

      expect([me.verifications, me.count('rememberTopics'), me.restores]).toEqual([1, 2, 0]);
    });

    it('does so though the call after the heartbeat fails', async () => {
      const { bed, me } = await joined();
      await bed.clock.advance(0);
      await bed.broker.fleet.forget(['me']);
      me.around = failing('rememberTopics');
      await bed.clock.advance(HEARTBEAT);
      me.around = async ({ run }) => run();
      await bed.clock.advance(HEARTBEAT);

      const [digest = ''] = (await bed.broker.fleet.sessions()).map((record) => record.digest);
      expect(await bed.broker.fleet.rememberedTopics([digest])).toEqual([['jobs']]);
    });
  });

  describe('if Redis has lost data', () => {
    it('has everything restored, once, whether or not its session is still there', async () => {
      const { bed, me } = await joined();
      me.around = async ({ operation, run }) => {
        const reply = (await run()) as object;
        return operation === 'heartbeat' ? { ...reply, mark: 'another' } : reply;
      };
      await bed.clock.advance(3 * HEARTBEAT);

      expect(me.restores).toBe(1);
    });
  });

  describe('if it handles other topics from now on', () => {
    it('goes by that at once, though nothing is answered', async () => {
      const { bed, a } = await two();
      const gate = new Gate();
      a.around = async ({ run }) => {
        await gate.opened;
        return run();
      };
      const before = a.session.live;
      const told = a.session.handle(['mails']);

      expect([a.session.handlersOf('jobs'), a.session.handlersOf('mails')]).toEqual([['b'], ['a']]);
      expect([a.session.handles('jobs'), a.session.handles('mails')]).toEqual([false, true]);
      expect(a.session.live).not.toBe(before);
      gate.open();
      await told;
      await bed.clock.advance(0);
      expect([a.session.handlersOf('jobs'), a.session.handlersOf('mails')]).toEqual([['b'], ['a']]);
    });

    it('tells the others, and says the list before its name, so that nobody misses it', async () => {
      const { bed, a, b } = await two();
      for (const process of [a, b]) process.calls.length = 0;
      await a.session.handle(['mails']);
      await bed.clock.advance(0);

      expect(a.operations.slice(0, 3)).toEqual(['rememberTopics', 'heartbeat', 'tell']);
      expect([b.session.handlersOf('jobs'), b.session.handlersOf('mails')]).toEqual([['b'], ['a']]);
      expect(b.told).not.toContain('unknown-topics');
      expect([a.restores, b.restores]).toEqual([0, 0]);
    });

    it('tells them later if the broker does not serve it now', async () => {
      const { bed, a, b } = await two();
      a.around = failing('rememberTopics');
      await a.session.handle([]);
      await bed.clock.advance(0);
      expect(b.session.handlersOf('jobs')).toEqual(['a', 'b']);
      a.around = async ({ run }) => run();
      await bed.clock.advance(250);

      expect(b.session.handlersOf('jobs')).toEqual(['b']);
    });

    it('tells them of what holds at last if it changes while they are told', async () => {
      const { bed, a, b } = await two();
      const gate = new Gate();
      a.around = async ({ operation, run }) => {
        if (operation === 'heartbeat') await gate.opened;
        return run();
      };
      const told = Promise.all([['mails'], [], ['jobs', 'mails']].map(async (topics) => a.session.handle(topics)));
      gate.open();
      await told;
      await bed.clock.advance(0);

      for (const { session } of [a, b]) {
        expect([session.handlersOf('jobs'), session.handlersOf('mails')]).toEqual([['a', 'b'], ['a']]);
      }
    });

    it('joins with them if it has not joined yet', async () => {
      const bed = new FleetBed();
      const me = bed.process('me');
      await me.session.handle(['mails']);
      expect(me.session.handlersOf('mails')).toEqual([]);
      await me.session.start();

      expect([me.session.handlersOf('jobs'), me.session.handlersOf('mails')]).toEqual([[], ['me']]);
      expect(me.count('rememberTopics')).toBe(1);
    });

    it('says them again if others have forgotten the session at that moment', async () => {
      const { bed, me } = await joined();
      await bed.broker.fleet.forget(['me']);
      await me.session.handle(['mails']);

      const [digest = ''] = (await bed.broker.fleet.sessions()).map((record) => record.digest);
      expect(await bed.broker.fleet.rememberedTopics([digest])).toEqual([['mails']]);
      expect(me.verifications).toBe(1);
    });

    it('does nothing once it is stopped', async () => {
      const { me } = await joined();
      await me.session.stop();
      const { length } = me.calls;
      await me.session.handle(['mails']);

      expect(me.calls).toHaveLength(length);
    });
  });

  it('does not leave what it has not joined', async () => {
    const me = new FleetBed().process('me');
    await me.session.stop();
    await me.session.leave();

    expect(me.calls).toEqual([]);
  });

  it('has sessions that are long over forgotten by one process, the first by name', async () => {
    const { bed, a, b } = await two();
    const gone = bed.process('0', ['mails']);
    await gone.session.start();
    await gone.session.stop();
    await bed.clock.advance(3 * LENGTH - HEARTBEAT);
    expect((await bed.broker.fleet.sessions()).map(({ session }) => session)).toEqual(['0', 'a', 'b']);
    await bed.clock.advance(3 * HEARTBEAT);

    expect((await bed.broker.fleet.sessions()).map(({ session }) => session)).toEqual(['a', 'b']);
    expect([a.count('forget'), b.count('forget')]).toEqual([1, 0]);
  });
});
