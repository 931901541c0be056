import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { partitionOf } from '../support/internals.js';
import { until } from '../support/waiting.js';
import { HELD, type Run, WORK } from '../fleet/operated-protocol.js';
import { NO_FAULTS, listAll, listingFaults } from '../support/processes/list-all.js';
import { LONGEST_BLOCK, WatchedSteps, longestCall } from '../support/readings/longest-call.js';
import { report } from '../support/readings/statistics.js';
import { OperatedFleet, type OperatedProcess } from '../support/processes/operated-fleet.js';
import { SavedMessages, messageKeys } from '../support/processes/saved-messages.js';

const COUNT = 100_000;
const PARTITIONS = 8;
const HOUR = 3_600_000;

/** Long, so that only a signal can explain an earlier effect; milliseconds. */
const MAX_IDLE_WAIT = 4000;

/** How soon a signal has to take effect on a busy machine; milliseconds. */
const BY_SIGNAL = MAX_IDLE_WAIT / 2;

const indexes = Array.from({ length: PARTITIONS }, (_, index) => index);

function shown(times: readonly number[]): string {
  return `${times.map((time) => time.toFixed(1)).join(' and ')} ms`;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

describe(`two processes with ${COUNT} messages, operated by a third`, { timeout: 120_000 }, () => {
  let fleet: OperatedFleet;
  /** All of them wait for at least an hour. */
  let backlog: string[];
  let saved: SavedMessages;
  let dueFrom: number;

  beforeAll(async () => {
    fleet = await OperatedFleet.start({ partitions: PARTITIONS, maxIdleWait: MAX_IDLE_WAIT, fleetEvents: true });
    dueFrom = Date.now() + HOUR;
    backlog = await fleet.publish({
      topic: WORK,
      idPrefix: 'waits-',
      count: COUNT,
      task: { does: 'succeed' },
      deliverAt: dueFrom,
    });
    saved = await SavedMessages.save(fleet.redis);
  }, 60_000);

  beforeEach(async () => {
    await saved.restore();
    // Nobody was told of what was put back; this tells the owners.
    await fleet.admin.resume(WORK);
  });

  afterAll(async () => fleet.end());

  /** The message at this position in the backlog of each partition. */
  function oneOfEach(nth: number): string[] {
    const some = backlog.slice(0, 1000);
    return indexes.map((index) => some.filter((id) => partitionOf(id, PARTITIONS) === index)[nth] ?? '');
  }

  /** Runs other traffic meanwhile, part of which waits amid the backlog. */
  async function whileBustling<T>(work: () => Promise<T>): Promise<T> {
    return fleet.whileBustling({ from: dueFrom, to: dueFrom + COUNT / 200, dying: false }, work);
  }

  /** Pauses while both handle, waits until both have noticed, and expects that neither starts a later message. */
  async function pauseAll(watch: WatchedSteps): Promise<void> {
    const { admin, processes } = fleet;
    const askedAt = now();
    await watch.step(async () => admin.pause(WORK));
    const pausedAt = now();
    const seenAt = await until('both to see the pause', () => {
      const times = processes.map((process) => process.sawAt(`Topic '${WORK}' is paused`, askedAt));
      return times.every((time) => time !== undefined) && times;
    });
    await until('handlers that run to end', async () => (await admin.stats(WORK)).inFlight === 0);
    const seen = seenAt.map((time) => time - pausedAt);
    const last = processes.map((process) => (runsSince(process, pausedAt).at(-1)?.at ?? pausedAt) - pausedAt);
    report(`pause: seen after ${shown(seen)}, the last handler call begins after ${shown(last)}`);
    expect(Math.max(...seen, ...last)).toBeLessThanOrEqual(MAX_IDLE_WAIT);
  }

  /** Waits until these are handled by the owners of their partitions, and returns how long each took. */
  async function expectHandledByOwners(ids: readonly string[], since: number): Promise<number[]> {
    const owners = await fleet.owners(WORK);
    const found = await until('them to be handled', () => {
      const runs = fleet.processes.flatMap((process) => runsSince(process, since)).filter(({ id }) => ids.includes(id));
      return runs.length >= ids.length && runs;
    });
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const process of fleet.processes) {
      const { pid } = process;
      const own = runsSince(process, since).filter(({ id }) => ids.includes(id));
      expect(own.map(({ partition }) => owners[partition])).toEqual(own.map(() => pid));
      expect(own.length).toBeGreaterThan(0);
    }
    return found.map(({ at }) => at - since);
  }

  it('topics(), stats() and get() answer', async () => {
    const time = await longestCall(fleet.redis, 'topics, stats, and get 200 times', async () => {
      expect(await fleet.admin.topics()).toEqual([HELD, WORK]);
      const stats = await fleet.admin.stats(WORK);
      expect(stats).toMatchObject({ scheduled: COUNT, due: 0, inFlight: 0, dead: 0, paused: false });
      expect(stats.nextDueAt).toEqual(new Date(dueFrom));
      for (const id of backlog.slice(-200)) {
        expect(await fleet.admin.get(WORK, id)).toMatchObject({ id, state: 'scheduled', attempts: 0 });
      }
    });
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
  });

  it('peek() lists each waiting message once, whatever both do meanwhile', async () => {
    const watch = await WatchedSteps.begin(fleet.redis);
    const begin = now();
    const listed = await whileBustling(async () => {
      return listAll(fleet.admin, { topic: WORK, state: 'scheduled', ask: (peek) => watch.step(peek) });
    });
    const time = watch.end(`listing ${COUNT} that wait`);
    expect(listingFaults(listed, backlog)).toEqual(NO_FAULTS);
    const others = listed.filter(({ id }) => id.includes('later'));
    const handled = fleet.processes.map((process) => runsSince(process, begin).length);
    report(`meanwhile ${handled.join(' and ')} handled, ${others.length} listed of what came and went`);
    expect(others.length).toBeGreaterThan(0);
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await fleet.admin.stats(WORK)).toMatchObject({ dead: 0 });
  });

  it('runNow() and reschedule() wake the owner', async () => {
    for (const [n, what, move] of [
      [0, 'runNow', async (id: string) => fleet.admin.runNow(WORK, id)],
      [1, 'reschedule', async (id: string) => fleet.admin.reschedule(WORK, id, { delay: 0 })],
    ] as const) {
      const ids = oneOfEach(n);
      const time = await longestCall(
        fleet.redis,
        `${what} of ${ids.length}`,
        async () => {
          const since = now();
          expect(await Promise.all(ids.map(async (id) => move(id)))).toEqual(ids.map(() => 'moved'));
          const took = Math.max(...(await expectHandledByOwners(ids, since)));
          report(`${what}: handled by their owners within ${took.toFixed(1)} ms`);
          expect(took).toBeLessThan(BY_SIGNAL);
        },
        () => saved.restore(),
      );
      expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
    }
  });

  it('reschedule(), edit() and cancel() change waiting messages', async () => {
    const many = backlog.slice(COUNT / 2, COUNT / 2 + 1000);
    const later = new Date(dueFrom + HOUR);
    const time = await longestCall(fleet.redis, 'reschedule and edit 1,000 times each', async () => {
      const moved = await Promise.all(many.map(async (id) => fleet.admin.reschedule(WORK, id, { deliverAt: later })));
      expect(moved).toEqual(many.map(() => 'moved'));
      const text = { does: 'succeed', text: 'edited' };
      const edited = await Promise.all(many.map(async (id) => fleet.admin.edit(WORK, id, text)));
      expect(edited).toEqual(many.map(() => 'edited'));
    });
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
    for (const id of many.slice(0, 20)) {
      expect(await fleet.admin.get(WORK, id)).toMatchObject({ at: later, payload: { text: 'edited' } });
    }
    const run = many.slice(-40);
    const since = now();
    for (const id of run) await fleet.admin.runNow(WORK, id);
    await expectHandledByOwners(run, since);
    expect(fleet.runs.filter(({ id }) => run.includes(id)).map(({ text }) => text)).toEqual(run.map(() => 'edited'));

    const rest = many.slice(0, -40);
    const cancelling = await longestCall(
      fleet.redis,
      `cancel of ${rest.length} that wait`,
      async () => {
        const results = await Promise.all(rest.map(async (id) => fleet.admin.cancel(WORK, id)));
        expect(results).toEqual(rest.map(() => 'cancelled'));
      },
      () => saved.restore(),
    );
    expect(cancelling).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await fleet.admin.get(WORK, rest[0] ?? '')).toBeUndefined();
  });

  it('each process sees the events of the other one', async () => {
    await fleet.each((process) => process.ask({ kind: 'listen' }));
    let probes = 0;
    await until('both to listen', async () => {
      await fleet.publish({ topic: WORK, idPrefix: `probe-${probes++}-`, count: 2, task: { does: 'succeed' } });
      return fleet.processes.every(({ events }) => events.length > 0);
    });
    const task = { does: 'fail-once' } as const;
    const time = await longestCall(
      fleet.redis,
      'events of 100 messages that fail once, in both processes',
      async () => {
        const ids = await fleet.publish({ topic: WORK, idPrefix: `told-${now()}-`, count: 100, task });
        const kinds = ['published', 'delivered', 'retried', 'delivered', 'acked'];
        const own = new Set(ids);
        const ofThese = ({ events }: OperatedProcess) => events.filter(({ id }) => id !== undefined && own.has(id));
        await until('both to be told of all', () =>
          fleet.processes.every((process) => ofThese(process).length >= kinds.length * ids.length),
        );
        const handledBy = new Map(fleet.processes.flatMap(({ pid, runs }) => runs.map(({ id }) => [id, pid] as const)));
        for (const process of fleet.processes) {
          const seen = ofThese(process).map(({ id, kind }) => `${id} ${kind}`);
          expect(seen.toSorted()).toEqual(ids.flatMap((id) => kinds.map((kind) => `${id} ${kind}`)).toSorted());
          const handling = ofThese(process).filter(({ kind }) => kind !== 'published');
          expect(handling.every(({ id, pid }) => handledBy.get(id ?? '') === pid)).toBe(true);
          expect(handling.some(({ pid }) => pid !== process.pid)).toBe(true);
        }
      },
    );
    await fleet.each((process) => process.ask({ kind: 'stop-listening' }));
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
  });

  it('pause(), resume() and drain() take effect in both while messages are due', async () => {
    const { admin, processes } = fleet;
    const first = now();
    const watch = await WatchedSteps.begin(fleet.redis);
    await whileBustling(async () => pauseAll(watch));
    // All new messages are due at once, and none is handed out.
    await admin.drain(WORK);
    const { delivered } = (await admin.stats(WORK)).counters;
    const task = { does: 'take-a-while' } as const;
    const ids = await fleet.publish({ topic: WORK, idPrefix: 'due-', count: COUNT, task });
    expect(await admin.stats(WORK)).toMatchObject({ due: COUNT, paused: true, counters: { delivered } });
    const due = await SavedMessages.save(fleet.redis);

    const resumedAt = now();
    await watch.step(async () => {
      await admin.resume(WORK);
      await until('both to go on', () => processes.every((process) => runsSince(process, resumedAt).length > 0));
    });
    const waits = processes.map((process) => (runsSince(process, resumedAt)[0]?.at ?? Infinity) - resumedAt);
    report(`resume: the first is handled after ${shown(waits)}`);
    expect(Math.max(...waits)).toBeLessThan(BY_SIGNAL);
    const listed = await listAll(admin, { topic: WORK, state: 'due', ask: (peek) => watch.step(peek) });
    await pauseAll(watch);
    const time = watch.end(`pausing, resuming with ${COUNT} due, listing them while both handle them, and pausing`);
    expect(time).toBeLessThanOrEqual(LONGEST_BLOCK);
    const handled = new Set(processes.flatMap((process) => runsSince(process, resumedAt)).map(({ id }) => id));
    const stayed = ids.filter((id) => !handled.has(id));
    report(`${handled.size} were handled meanwhile, ${stayed.length} were due all along`);
    expect(stayed.length).toBeGreaterThan(0);
    expect(stayed.length).toBeLessThan(COUNT);
    expect(listingFaults(listed, stayed)).toEqual(NO_FAULTS);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    expect(processes.every((process) => process.sawAt(`Topic '${WORK}' goes on`, first) !== undefined)).toBe(true);

    const draining = await longestCall(
      fleet.redis,
      `draining ${COUNT}, dry and in earnest`,
      async () => {
        expect(await admin.drain(WORK, { dryRun: true })).toEqual({ matched: COUNT, changed: 0, aborted: false });
        const stop = new AbortController();
        setTimeout(() => stop.abort(), COUNT / 10_000);
        const { changed: removed } = await admin.drain(WORK, { signal: stop.signal });
        expect(removed).toBeLessThan(COUNT);
        const left = COUNT - removed;
        expect(await admin.drain(WORK)).toEqual({ matched: left, changed: left, aborted: false });
      },
      () => due.restore(),
    );
    expect(draining).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect(await admin.stats(WORK)).toMatchObject({ scheduled: 0, due: 0, inFlight: 0, nextDueAt: undefined });
    expect(await messageKeys(fleet.redis)).toEqual([]);
  });

  it('messages in flight are listed once, and cancelled in the process that runs them', async () => {
    const { admin, processes } = fleet;
    const ids = await fleet.publish({ topic: HELD, idPrefix: 'held-', count: COUNT, task: { does: 'succeed' } });
    await until('all to be in flight', async () => (await admin.stats(HELD)).inFlight === COUNT, 30_000);
    const leaving = ids.filter((_, n) => n % 100 === 0);
    const staying = ids.filter((_, n) => n % 100 > 0);
    let next = 0;
    const results = new Set<string>();
    const watch = await WatchedSteps.begin(fleet.redis);
    const listed = await whileBustling(async () => {
      return listAll(admin, {
        topic: HELD,
        state: 'in-flight',
        ask: (peek) => watch.step(peek),
        between: async () => {
          const id = leaving[next++];
          if (id !== undefined) results.add(await admin.cancel(HELD, id));
        },
      });
    });
    expect(listingFaults(listed, staying)).toEqual(NO_FAULTS);
    expect(watch.end(`listing ${COUNT} in flight`)).toBeLessThanOrEqual(LONGEST_BLOCK);
    expect([...results]).toEqual(['in-flight']);
    const cancelled = leaving.slice(0, next);
    await until('their signals to abort', () => processes.flatMap(({ aborts }) => aborts).length >= cancelled.length);
    const handlers = new Map(processes.flatMap(({ name, runs }) => runs.map(({ id }) => [id, name] as const)));
    for (const { name, aborts } of processes) {
      expect(aborts.length).toBeGreaterThan(0);
      expect(aborts.every(({ id, code }) => handlers.get(id) === name && code === 'CANCELLED')).toBe(true);
    }
    expect(processes.flatMap(({ aborts }) => aborts.map(({ id }) => id)).toSorted()).toEqual(cancelled.toSorted());
    await until('them to be gone', async () => (await admin.stats(HELD)).inFlight === COUNT - cancelled.length);
  });
});

function runsSince({ runs }: OperatedProcess, since: number): Run[] {
  return runs.filter(({ at }) => at >= since);
}
