import { describe, expect, it } from 'vitest';
import type { SessionRecord } from '../../../lib/store/fleet/sessions.js';
import { FleetView } from '../../../lib/fleet/fleet-view.js';

const HEARTBEAT = 1000;
const LENGTH = 2000;
/** The time between two answered heartbeats of this process. */
const PERIOD = 900;

/** The view of a process, and what is stored of the others. Time begins at 0. */
class Bed {
  readonly view = new FleetView({ id: 'me', digest: 'mine' }, { heartbeat: HEARTBEAT, length: LENGTH });
  readonly records = new Map<string, SessionRecord>();
  now = 0;

  /** A heartbeat of another process. */
  renew(session: string, given: Partial<SessionRecord> = {}): void {
    const { count = 0 } = this.records.get(session) ?? {};
    const record = { session, count: count + 1, at: this.now, length: LENGTH, digest: 'theirs', left: false };
    this.records.set(session, { ...record, ...given });
  }

  /** A heartbeat of this process that is answered, after so many milliseconds. */
  look(wait = 0): void {
    const records = [...this.records.values()];
    this.view.observe(records, this.now, this.now + wait);
    this.now += wait;
  }

  /** Heartbeats of this process for so many milliseconds, with those of the others that are named. */
  pass(milliseconds: number, renewed: readonly string[] = []): void {
    const end = this.now + milliseconds;
    while (this.now < end) {
      this.now = Math.min(end, this.now + PERIOD);
      for (const session of renewed) this.renew(session);
      this.look();
    }
  }

  get live(): string[] {
    return this.view.live.map(({ id }) => id);
  }
}

/** A view that has seen one heartbeat of each of these. */
function seen(...sessions: string[]): Bed {
  const bed = new Bed();
  for (const session of sessions) bed.renew(session);
  bed.look();
  return bed;
}

describe('FleetView', () => {
  it('shows this process alone before anything was answered', () => {
    expect(new Bed().live).toEqual(['me']);
  });

  it('shows those that live, sorted by name, with the digests of their topics', () => {
    const { view } = seen('z', 'a');
    expect(view.live).toMatchObject([
      { id: 'a', digest: 'theirs' },
      { id: 'me', digest: 'mine' },
      { id: 'z', digest: 'theirs' },
    ]);
  });

  it('takes its own record for none of another process', () => {
    const bed = seen('me');
    bed.renew('me', { left: true });
    bed.look();
    expect(bed.view.live).toMatchObject([{ id: 'me', digest: 'mine' }]);
    expect(bed.view.hasEnded('me')).toBe(false);
  });

  it('ends a session once it was not renewed for a whole session in which this process was answered', () => {
    const bed = seen('other');
    bed.pass(LENGTH - 1);
    expect([bed.live, bed.view.hasEnded('other')]).toEqual([['me', 'other'], false]);
    bed.pass(1);
    expect([bed.live, bed.view.hasEnded('other')]).toEqual([['me'], true]);
  });

  it('never ends a session that is renewed now and then', () => {
    const bed = seen('other');
    for (let i = 0; i < 50; i++) {
      bed.pass(LENGTH - 1);
      bed.renew('other');
      bed.pass(1);
      expect(bed.live).toEqual(['me', 'other']);
    }
  });

  it('does not look at what the others say of the time', () => {
    const bed = seen('other');
    bed.renew('other', { at: -1e12 });
    bed.look();
    expect(bed.live).toEqual(['me', 'other']);
    bed.renew('other', { at: 1e15 });
    bed.pass(LENGTH + PERIOD);
    expect(bed.live).toEqual(['me']);
  });

  it('counts by the length of the session, not by its own', () => {
    const bed = new Bed();
    bed.renew('longer', { length: 5 * LENGTH });
    bed.renew('shorter', { length: LENGTH / 2 });
    bed.look();
    bed.pass(LENGTH / 2);
    expect(bed.live).toEqual(['longer', 'me']);
    bed.pass(4.5 * LENGTH - 1);
    expect(bed.live).toEqual(['longer', 'me']);
    bed.pass(1);
    expect(bed.live).toEqual(['me']);
  });

  describe('while its own heartbeats are not answered', () => {
    it('ends nobody, however long that is', () => {
      const bed = seen('other');
      bed.now += 100 * LENGTH;
      bed.look();
      expect(bed.live).toEqual(['me', 'other']);
      bed.pass(LENGTH - 1);
      expect(bed.live).toEqual(['me', 'other']);
      bed.pass(1);
      expect(bed.live).toEqual(['me']);
    });

    it('counts what was before an outage, and nothing of it', () => {
      const bed = seen('other');
      bed.pass(PERIOD);
      bed.now += 3 * LENGTH;
      bed.look();
      bed.pass(LENGTH - PERIOD - 1);
      expect(bed.live).toEqual(['me', 'other']);
      bed.pass(1);
      expect(bed.live).toEqual(['me']);
    });

    it('counts nothing of a heartbeat that waits for its answer: those of others may be run after it', () => {
      const bed = seen('other');
      bed.pass(PERIOD);
      bed.now += PERIOD;
      bed.look(LENGTH);
      bed.pass(LENGTH - PERIOD - 1);
      expect(bed.live).toEqual(['me', 'other']);
      bed.pass(1);
      expect(bed.live).toEqual(['me']);
    });

    it('ends nobody in the middle of a series of outages either', () => {
      const bed = seen('other');
      for (let i = 0; i < 100; i++) {
        bed.now += 10 * LENGTH;
        bed.renew('other');
        bed.look();
        expect(bed.live).toEqual(['me', 'other']);
      }
    });

    it('keeps a session ended that had ended before', () => {
      const bed = seen('other');
      bed.pass(LENGTH);
      bed.now += 100 * LENGTH;
      bed.look();
      expect(bed.live).toEqual(['me']);
      bed.renew('other');
      bed.look();
      expect(bed.live).toEqual(['me', 'other']);
    });
  });

  describe('of a heartbeat that comes late', () => {
    it('takes it as a sign of life, since it may hide newer ones', () => {
      const bed = new Bed();
      for (const count of [7, 3, 2]) {
        bed.renew('other', { count });
        bed.pass(LENGTH - 1);
        expect(bed.live).toEqual(['me', 'other']);
      }
      bed.pass(LENGTH);
      expect(bed.live).toEqual(['me']);
    });

    it('does not take back that the session was left', () => {
      const bed = new Bed();
      bed.renew('other', { count: 7, left: true });
      bed.look();
      bed.renew('other', { count: 6 });
      bed.pass(PERIOD);
      expect([bed.live, bed.view.hasEnded('other')]).toEqual([['me'], true]);
    });
  });

  it('does not end a living process for good whose count was damaged', () => {
    const bed = seen('other');
    bed.renew('other', { count: 9e15 });
    bed.look();
    bed.renew('other', { count: 3 });
    bed.pass(PERIOD);
    bed.pass(10 * LENGTH, ['other']);
    expect(bed.live).toEqual(['me', 'other']);
  });

  it('shows a process as gone at once when it has left', () => {
    const bed = seen('other');
    bed.renew('other', { left: true });
    bed.look();
    expect([bed.live, bed.view.hasEnded('other'), bed.view.nextEnd]).toEqual([['me'], true, Infinity]);
  });

  it('ends nobody whose record has vanished before its session is over, and goes on when it is back', () => {
    const bed = seen('other', 'gone');
    bed.records.clear();
    bed.pass(LENGTH - 1);
    expect(bed.live).toEqual(['gone', 'me', 'other']);
    bed.renew('other', { count: 2 });
    bed.pass(1);
    expect(bed.live).toEqual(['me', 'other']);
    expect(bed.view.hasEnded('gone')).toBe(true);
  });

  it('knows again who was forgotten and is back', () => {
    const bed = seen('other');
    bed.pass(3 * LENGTH);
    bed.records.delete('other');
    bed.pass(LENGTH);
    expect(bed.live).toEqual(['me']);
    bed.renew('other');
    bed.look();
    expect([bed.live, bed.view.hasEnded('other')]).toEqual([['me', 'other'], false]);
  });

  it('watches a session anew that had ended, and has taken something since', () => {
    const bed = seen('other');
    bed.pass(LENGTH);
    bed.view.hasTaken('other');
    expect(bed.view.hasEnded('other')).toBe(false);
    bed.pass(2 * LENGTH);
    expect([bed.live, bed.view.hasEnded('other')]).toEqual([['me'], true]);
  });

  describe('of a session that only an owner names', () => {
    it('says that it has ended after a whole session in which nobody has heard of it', () => {
      const bed = seen();
      expect(bed.view.hasEnded('stranger')).toBe(false);
      expect(bed.view.nextEnd).toBe(LENGTH);
      bed.pass(LENGTH - 1);
      expect(bed.view.hasEnded('stranger')).toBe(false);
      bed.pass(1);
      expect(bed.view.hasEnded('stranger')).toBe(true);
      expect(bed.live).toEqual(['me']);
    });

    it('says so too if it was asked before the first heartbeat was answered', () => {
      const bed = new Bed();
      bed.now = 5000;
      expect(bed.view.hasEnded('stranger')).toBe(false);
      bed.look();
      expect(bed.view.nextEnd).toBe(Infinity);
      expect(bed.view.hasEnded('stranger')).toBe(false);
      bed.pass(LENGTH - 1);
      expect(bed.view.hasEnded('stranger')).toBe(false);
      bed.pass(1);
      expect(bed.view.hasEnded('stranger')).toBe(true);
    });

    it('takes it for alive from its first heartbeat on', () => {
      const bed = seen();
      bed.view.hasEnded('stranger');
      bed.pass(PERIOD);
      bed.renew('stranger');
      bed.pass(LENGTH - PERIOD);
      expect([bed.live, bed.view.hasEnded('stranger')]).toEqual([['me', 'stranger'], false]);
    });
  });

  it('says when the next session ends that is not renewed', () => {
    const bed = seen('first', 'second');
    bed.pass(PERIOD, ['second']);
    expect(bed.view.nextEnd).toBe(LENGTH);
    bed.pass(LENGTH - PERIOD);
    expect(bed.view.nextEnd).toBe(PERIOD + LENGTH);
    bed.pass(LENGTH);
    expect(bed.view.nextEnd).toBe(Infinity);
  });

  it('is not hurried by a session that is shorter than its own', () => {
    const bed = seen('other');
    bed.renew('shorter', { length: LENGTH / 10 });
    bed.look();
    expect(bed.view.nextEnd).toBe(LENGTH);
  });

  it('names for forgetting what is stored, and is over or was left for three sessions', () => {
    const bed = seen('ended', 'vanished', 'alive');
    bed.renew('left', { left: true });
    bed.look();
    bed.records.delete('vanished');
    bed.pass(3 * LENGTH - 1, ['alive']);
    expect(bed.view.forgettable).toEqual([]);
    bed.pass(1, ['alive']);
    expect(bed.view.forgettable).toEqual(['ended', 'left']);
    bed.records.delete('ended');
    bed.pass(1, ['alive']);
    expect(bed.view.forgettable).toEqual(['left']);
  });

  it('has another array whenever who lives has changed, and only then', () => {
    const bed = seen('other');
    let before = bed.view.live;
    const hasChanged = (): boolean => {
      const changed = bed.view.live !== before;
      before = bed.view.live;
      return changed;
    };
    bed.pass(10 * LENGTH, ['other']);
    expect(hasChanged()).toBe(false);
    bed.renew('other', { digest: 'more' });
    bed.look();
    expect(hasChanged()).toBe(true);
    bed.renew('third');
    bed.look();
    expect(hasChanged()).toBe(true);
    bed.renew('third', { left: true });
    bed.look();
    expect(hasChanged()).toBe(true);
    bed.pass(LENGTH);
    expect(hasChanged()).toBe(true);
    bed.pass(10 * LENGTH);
    expect(hasChanged()).toBe(false);
  });
});
