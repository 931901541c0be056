import { describe, expect, it } from 'vitest';
import { Loop } from '../../../lib/time/loop.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/** A loop whose runs end when the test says so. */
function build({ gather = false } = {}) {
  const clock = new ManualClock(0);
  const runs: ((delay?: number) => void)[] = [];
  const loop = new Loop({ clock, gather, run: () => new Promise<number | void>((resolve) => runs.push(resolve)) });
  return { clock, runs, loop };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('Loop', () => {
  it('runs at once, and rests until it is asked again', async () => {
    const { clock, runs, loop } = build();
    expect(loop.resting).toBe(true);
    const done = loop.request();
    expect([runs.length, loop.running, loop.resting]).toEqual([1, true, false]);
    runs[0]?.();
    await done;
    expect([loop.running, loop.resting, clock.nextTimerAt]).toEqual([false, true, undefined]);
    loop.poke();
    expect(runs).toHaveLength(2);
  });

  it('is over at once if a run waits for nothing', () => {
    const clock = new ManualClock(0);
    const loop = new Loop({ clock, run: () => 100 });
    loop.poke();
    expect([loop.running, clock.nextTimerAt]).toEqual([false, 100]);
  });

  it('runs exactly once more after all requests that came during a run, and all of them wait for that', async () => {
    const { runs, loop } = build();
    let ended = 0;
    for (let i = 0; i < 5; i++) void loop.request().then(() => ended++);
    expect(runs).toHaveLength(1);
    runs[0]?.();
    await turn();
    expect([runs.length, ended]).toEqual([2, 0]);
    runs[1]?.();
    await turn();
    expect([runs.length, ended]).toEqual([2, 5]);
  });

  it('does not run twice at once if a run asks for another before it waits for anything', async () => {
    const clock = new ManualClock();
    let running = 0;
    let most = 0;
    let runs = 0;
    const loop: Loop = new Loop({
      clock,
      run: async () => {
        most = Math.max(most, ++running);
        if (++runs < 3) loop.poke();
        await turn();
        running--;
      },
    });
    await loop.request();
    expect([runs, most]).toEqual([3, 1]);
  });

  it('runs again when the time is over that the last run has named', async () => {
    const { clock, runs, loop } = build();
    loop.poke();
    runs[0]?.(100);
    await clock.advance(99);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    expect(runs).toHaveLength(2);
    runs[1]?.();
    await clock.advance(1000);
    expect([runs.length, clock.nextTimerAt]).toEqual([2, undefined]);
  });

  it('forgets the time that was named when it runs before', async () => {
    const { clock, runs, loop } = build();
    loop.later(100);
    loop.poke();
    runs[0]?.();
    await clock.advance(1000);
    expect(runs).toHaveLength(1);
  });

  it('runs at the earliest of several times', async () => {
    const { clock, runs, loop } = build();
    for (const delay of [300, 100, 200]) loop.later(delay);
    await clock.advance(100);
    expect(runs).toHaveLength(1);
    runs[0]?.();
    await clock.advance(1000);
    expect(runs).toHaveLength(1);
  });

  it('gathers the requests of a turn of the event loop, if it is told to', async () => {
    const { runs, loop } = build({ gather: true });
    loop.poke();
    loop.poke();
    expect([runs.length, loop.running]).toEqual([0, true]);
    await turn();
    expect(runs).toHaveLength(1);
    runs[0]?.();
    await loop.idle();
    expect(runs).toHaveLength(1);
  });

  it('runs once when it is started twice', async () => {
    const { runs, loop } = build();
    const started = [loop.start(), loop.start()];
    runs[0]?.();
    await Promise.all(started);
    await loop.start();
    expect([runs.length, loop.started]).toEqual([1, true]);
  });

  it.each(['before it runs', 'in a run'])('ends for good when it is stopped %s', async (when) => {
    const { clock, runs, loop } = build();
    if (when === 'in a run') loop.poke();
    loop.later(50);
    loop.poke();
    const before = runs.length;
    let ended = false;
    const stopped = loop.stop().then(() => (ended = true));
    await turn();
    expect(ended).toBe(before === 0);
    runs[0]?.(10);
    await stopped;
    loop.poke();
    loop.later(10);
    await loop.start();
    await loop.stop();
    await clock.advance(1000);
    expect([runs.length, clock.nextTimerAt, loop.stopped]).toEqual([before, undefined, true]);
  });

  it('does not run what it was asked for in the turn in which it is stopped', async () => {
    const { runs, loop } = build({ gather: true });
    loop.poke();
    await loop.stop();
    expect(runs).toEqual([]);
  });
});
