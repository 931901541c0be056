import { afterEach, describe, expect, it, vi } from 'vitest';
import { FleetBed, failing, joined, two } from '../../support/units/fleet-bed.js';
import { HEARTBEAT } from '../../support/units/handling.js';

/** For how long an echo is awaited. */
const ECHO = 2000;

/** Longer than three heartbeats take, and shorter than four. */
const THREE_HEARTBEATS = 3 * HEARTBEAT;

afterEach(() => void vi.restoreAllMocks());

describe('Session', () => {
  describe('sends itself a signal', () => {
    it('with every third heartbeat, and is content if it comes', async () => {
      const { bed, me } = await joined();
      await bed.clock.advance(20 * HEARTBEAT);

      expect(me.told.filter((kind) => kind === 'echo')).toHaveLength(Math.floor(me.count('heartbeat') / 3));
      expect([me.rebuilt, me.lines]).toEqual([[], []]);
    });

    it('and has the connection for signals made anew if it does not come, with one line while that lasts', async () => {
      const { bed, me } = await joined();
      me.hearsSignals = false;
      await bed.clock.advance(THREE_HEARTBEATS + ECHO);
      expect(me.rebuilt).toEqual(['signals']);
      await bed.clock.advance(3 * THREE_HEARTBEATS);
      expect(me.rebuilt.length).toBeGreaterThanOrEqual(3);
      expect(me.lines).toEqual(['warn Signals do not come through any more; the connection for them is made anew']);

      me.hearsSignals = true;
      await bed.clock.advance(2 * THREE_HEARTBEATS);
      me.rebuilt.length = 0;
      me.hearsSignals = false;
      await bed.clock.advance(2 * THREE_HEARTBEATS);
      expect(me.rebuilt.length).toBeGreaterThanOrEqual(1);
      expect(me.lines).toHaveLength(2);
    });

    it('and leaves the connection alone if the signal could not be sent', async () => {
      const { bed, me } = await joined();
      me.around = failing('tell');
      await bed.clock.advance(3 * THREE_HEARTBEATS);

      expect(me.told).toContain('echo');
      expect([me.rebuilt, me.lines]).toEqual([[], []]);
    });

    it('and looks into its partitions each time, if those of other servers can get lost all the same', async () => {
      const { bed, me } = await joined();
      await bed.clock.advance(20 * HEARTBEAT);
      expect(me.looks).toBe(0);
      me.losesSignals = true;
      me.calls.length = 0;
      await bed.clock.advance(20 * HEARTBEAT);

      expect(me.looks).toBeGreaterThanOrEqual(6);
      expect(me.looks).toBe(me.told.filter((kind) => kind === 'echo').length);
    });

    it('and waits for it no more once it is stopped', async () => {
      const { bed, me } = await joined();
      me.hearsSignals = false;
      await bed.clock.advance(THREE_HEARTBEATS - HEARTBEAT / 2);
      expect(me.told).toContain('echo');
      await me.session.stop();
      await bed.clock.advance(ECHO);

      expect([me.rebuilt, bed.clock.nextTimerAt]).toEqual([[], undefined]);
    });
  });

  describe('knows the topics of the others', () => {
    it('by their lists, and reads each list once', async () => {
      const bed = new FleetBed();
      const me = bed.process('me', ['jobs', 'mails', 'jobs']);
      const others = [bed.process('b', ['mails']), bed.process('c', ['mails']), bed.process('d', ['mails', 'jobs'])];
      for (const { session } of [me, ...others]) await session.start();
      await bed.clock.advance(2 * HEARTBEAT);

      expect(me.session.handlersOf('mails')).toEqual(['b', 'c', 'd', 'me']);
      expect(me.session.handlersOf('jobs')).toEqual(['d', 'me']);
      expect(me.session.handlersOf('orders')).toEqual([]);
      expect(me.count('rememberedTopics')).toBe(1);
    });

    it('and still knows them if Redis has lost all of it', async () => {
      const bed = new FleetBed();
      const [a, b] = [bed.process('a'), bed.process('b', ['mails'])];
      for (const { session } of [a, b]) await session.start();
      await bed.clock.advance(HEARTBEAT);
      const { live } = a.session;
      expect(a.session.handlersOf('mails')).toEqual(['b']);
      await bed.broker.fleet.forget(['a', 'b']);
      // It is back before its list is.
      b.around = async ({ operation, run }) => (operation === 'rememberTopics' ? undefined : run());
      await bed.clock.advance(HEARTBEAT);

      expect(a.session.handlersOf('mails')).toEqual(['b']);
      expect(a.session.live).toBe(live);
    });

    it('and asks who handles something unknown to say so again, and shares anew then', async () => {
      const bed = new FleetBed();
      const [a, b] = [bed.process('a'), bed.process('b', ['jobs', 'mails'])];
      await a.session.start();
      // Its list is lost the first time.
      b.around = async ({ operation, run }) => {
        if (operation === 'rememberTopics' && b.count(operation) === 1) return undefined;
        return run();
      };
      await b.session.start();
      await bed.clock.advance(0);
      const { live } = a.session;
      expect(a.told).toContain('unknown-topics');
      expect(live.map(({ id }) => id)).toEqual(['a', 'b']);
      expect(a.session.handlersOf('jobs')).toEqual(['a']);
      await bed.clock.advance(HEARTBEAT);

      expect(a.session.handlersOf('jobs')).toEqual(['a', 'b']);
      expect(a.session.live).not.toBe(live);
      expect(a.told.filter((kind) => kind === 'unknown-topics')).toHaveLength(1);
    });
  });

  describe('looks at once', () => {
    it('if another process joins or leaves', async () => {
      const { bed, a, b } = await two();
      expect(a.session.handlersOf('jobs')).toEqual(['a', 'b']);
      await b.session.stop();
      await b.session.leave();
      await bed.clock.advance(0);

      expect(a.session.handlersOf('jobs')).toEqual(['a']);
    });

    it('within a short time that is drawn, if there are many processes', async () => {
      const bed = new FleetBed();
      const processes = Array.from({ length: 40 }, (_, i) => bed.process(`p${i}`));
      for (const { session } of processes) await session.start();
      await bed.clock.advance(2 * HEARTBEAT);
      vi.spyOn(Math, 'random').mockReturnValue(0.5);
      // So that the next heartbeats are due at the same time, long after.
      for (const { session } of processes) session.refresh();
      await bed.clock.advance(0);
      const counts = () => new Set(processes.map((process) => process.count('heartbeat')));
      for (const process of processes) process.calls.length = 0;
      await bed.broker.fleet.tell({ signal: { kind: 'changed' } });
      await bed.clock.advance(39);
      expect(counts()).toEqual(new Set([0]));
      await bed.clock.advance(1);

      expect(counts()).toEqual(new Set([1]));
    });

    it('and shares, when signals begin to come again', async () => {
      const { bed, me } = await joined();
      const { shares } = me;
      const heartbeats = me.count('heartbeat');
      me.onListening?.();
      expect(me.shares).toBe(shares + 1);
      await bed.clock.advance(0);

      expect(me.count('heartbeat')).toBe(heartbeats + 1);
    });
  });

  it('tells another process once for all partitions that were released for it, and itself never', async () => {
    const { bed, a, b } = await two();
    const { shares } = b;
    const partitions = Array.from({ length: 10 }, (_, index) => ({ topic: 'jobs', index }));
    for (const partition of partitions) {
      a.session.tellReleased('b', partition);
      a.session.tellReleased('a', partition);
    }
    await bed.clock.advance(0);

    expect(a.told.filter((kind) => kind === 'released')).toHaveLength(1);
    expect([b.inherited, a.inherited]).toEqual([partitions, []]);
    expect(b.shares).toBe(shares);
  });

  it('names at most a hundred partitions in a signal', async () => {
    const { bed, a, b } = await two();
    const partitions = Array.from({ length: 250 }, (_, index) => ({ topic: 'jobs', index }));
    for (const partition of partitions) a.session.tellReleased('b', partition);
    await bed.clock.advance(0);

    expect(a.told.filter((kind) => kind === 'released')).toHaveLength(3);
    expect(b.inherited).toEqual(partitions);
  });

  it('asks the owner of a partition for it, who looks who is there', async () => {
    const { bed, a, b } = await two();
    const heartbeats = b.count('heartbeat');
    await a.session.askFor({ topic: 'jobs', index: 3 }, 'epoch b', 'b');
    await bed.clock.advance(0);

    expect(b.requests).toEqual([[3, 'epoch b']]);
    expect(a.requests).toEqual([]);
    expect(b.count('heartbeat')).toBe(heartbeats + 1);
  });
});
