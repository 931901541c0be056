import type { ProcessRecord } from '../history/records.js';
import { TIMING } from '../world.js';
import { leave, startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** How much longer than its lease a handler may go on without hearing of it, in milliseconds; a busy host needs some of it. */
const HEARS_WITHIN = 1000;

export const cutOffConsumer: Scenario = {
  name: 'cut-off-consumer',
  shows:
    'a consumer is cut off for several leases: its handlers are aborted when their leases end, not when it is back',
  length: 'long',
  async run(world) {
    await startFleet(world, { handlerTime: 6 * TIMING.lease, concurrency: 500 });
    for (let i = 0; i < 2; i++) {
      await world.pause(1500, 2000);
      const victim = world.random.pick(world.consumers);
      const at = world.now();
      await world.fault('cut off', victim, async () => {
        world.proxy(victim).stall();
        await world.pause(3 * TIMING.lease + HEARS_WITHIN, 4 * TIMING.lease + HEARS_WITHIN);
        world.proxy(victim).resume();
      });
      const late = unaborted(world.recordsOf(victim), at, at + TIMING.lease + HEARS_WITHIN);
      world.expect(late.length === 0, 'unaborted', `handlers went on for ${late.slice(0, 5).join(', ')}`);
    }
  },
};

/** The messages whose handlers began before a moment, and went on until another one without having been aborted. */
function unaborted(records: readonly ProcessRecord[], begunBefore: number, endedBefore: number): string[] {
  const ended = new Set(
    records.flatMap((record) =>
      (record.kind === 'delivery-finished' || record.kind === 'aborted') && record.at < endedBefore
        ? [`${record.id} ${record.attempt}`]
        : [],
    ),
  );
  return records.flatMap((record) =>
    record.kind === 'delivery-started' && record.at < begunBefore && !ended.has(`${record.id} ${record.attempt}`)
      ? [record.id]
      : [],
  );
}

/** A lease for whose end a message would have to wait if nothing else brought it; milliseconds. */
const LONG_LEASE = 20_000;

/** Heartbeats of processes whose signals are lost, in milliseconds: rare enough for a message to be seen waiting. */
const RARE = 1000;

export const deafSignals: Scenario = {
  name: 'deaf-signals',
  shows: 'connections for signals stay open and bring nothing any more: their processes find out, and make them anew',
  length: 'long',
  // Three heartbeats until the process signals to itself, 2 s in which it hears nothing, and a second for a busy host.
  maxLateness: 3 * RARE + 3000,
  async run(world) {
    // A claim is followed by a look when the leases that it gave would end, so these are long.
    for (let i = 0; i < 2; i++) await world.startConsumer({ maxIdleWait: RARE, lease: LONG_LEASE, failures: 0 });
    await world.startProducer({ rate: 50, maxDelay: 0, cancellations: 0 });
    for (let i = 0; i < 2; i++) {
      await world.pause(1000, 2000);
      await world.fault('deaf', undefined, async () => {
        for (const name of world.consumers) world.proxy(name).deafen('signals');
        await world.pause(3 * RARE + 2000);
      });
    }
    await world.pause(1000, 2000);
  },
};

export const delayedCopies: Scenario = {
  name: 'delayed-copies',
  shows: 'copies of calls arrive long after their callers have gone on, while processes come and go',
  length: 'long',
  maxLateness: LONG_LEASE / 4,
  async run(world) {
    await world.copyCalls(0.3, 1500);
    await startFleet(world, { lease: LONG_LEASE });
    for (let i = 0; i < 3; i++) {
      await world.pause(600, 900);
      await Promise.all([leave(world, world.random.pick(world.consumers)), world.startConsumer({ lease: LONG_LEASE })]);
    }
    await world.pause(600, 900);
    world.expect(world.copies > 100, 'no-copies', `${world.copies} copies arrived`);
  },
};
