import type { History } from '../../fleet/faults/history/records.js';
import type { Drill } from '../drill.js';
import { describe, firstDeliveries, latenessOf } from '../figures.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import { DEFAULTS, type Stage } from '../stage.js';

/** How soon the partitions of a process that is killed have to have another owner, in milliseconds. */
const TAKEOVER = 15_000;

/** What a killed process had claimed waits for its lease; then everything has to be handled. */
const AFTER_KILL = DEFAULTS.lease + 15_000;

export const takeover: Drill = {
  name: 'takeover',
  shows: 'a process is killed: others have its partitions within 15 s, at default settings',
  times: 3,
  async run(stage, times) {
    await stage.use(OneRedis.start(WITH_FILE));
    await stage.startFleet({ consumers: 3, rate: 200 });
    const killed: { readonly name: string; readonly at: number }[] = [];
    for (let i = 0; i < times; i++) {
      await stage.pause(1000, 3000);
      const name = stage.random.pick(stage.consumers);
      const at = stage.now();
      await stage.disturb('SIGKILL', async () => stage.program(name).kill(), { process: name, fatal: true });
      killed.push({ name, at });
      await stage.startConsumer();
      await stage.allOwned(2 * TAKEOVER);
      // An owner whose session has not ended yet may be the one that was killed.
      await stage.pause(at + TAKEOVER - stage.now() > 0 ? at + TAKEOVER - stage.now() : 0);
    }
    const history = await stage.finish({ settledWithin: AFTER_KILL });
    for (const { name, at } of killed) {
      const took = handoverTook(history, name, at);
      stage.notes.push(`the partitions of ${name} had another owner after ${took.toFixed(0)} ms`);
      stage.expect(took < TAKEOVER, 'takeover', `${took.toFixed(0)} ms, ${TAKEOVER} ms are allowed`);
    }
  },
};

export const stoppedOwner: Drill = {
  name: 'stopped-owner',
  shows: 'an owner is stopped for longer than its session and its lease, and goes on',
  times: 2,
  async run(stage, times) {
    await stage.use(OneRedis.start(WITH_FILE));
    await stage.startFleet({ consumers: 3, rate: 200, consumer: { handlerTime: 500 } });
    for (let i = 0; i < times; i++) {
      await stage.pause(1000, 3000);
      const name = stage.random.pick(stage.consumers);
      await stage.disturb('SIGSTOP', async () => stopFor(stage, name, DEFAULTS.lease + 5000), {
        process: name,
        endsLeases: true,
      });
      await stage.allOwned(TAKEOVER);
    }
    await stage.finish({ settledWithin: AFTER_KILL });
  },
};

/** How long a graceful leave may take, and how late a message may be meanwhile, in milliseconds. */
const LEAVE = 1000;

export const leaving: Drill = {
  name: 'leaving',
  shows: 'processes leave gracefully, one after the other: each hands its partitions over within a second',
  times: 8,
  short: 2,
  async run(stage, times) {
    await stage.use(OneRedis.start(WITH_FILE));
    await stage.startFleet({ consumers: 3, rate: 200 });
    const left: { readonly name: string; readonly at: number; readonly ended: number }[] = [];
    for (let i = 0; i < times; i++) {
      await stage.startConsumer();
      await stage.pause(1500, 2500);
      const name = stage.random.pick(stage.consumers);
      const at = stage.now();
      await stage.disturb('SIGTERM', async () => {
        stage.program(name).signal('SIGTERM');
        await stage.program(name).exit();
      });
      left.push({ name, at, ended: stage.now() });
    }
    await stage.pause(1500);
    const history = await stage.finish({ latest: LEAVE, confirmsAll: true });
    for (const { name, at, ended } of left) {
      const handover = handoverTook(history, name, at);
      stage.notes.push(
        `${name}: handed over after ${handover.toFixed(0)} ms, ended after ${(ended - at).toFixed(0)} ms`,
      );
      stage.expect(handover < LEAVE, 'leave', `${name} took ${handover.toFixed(0)} ms, ${LEAVE} ms are allowed`);
    }
  },
};

/** 64 light processes are four of Node.js with sixteen applications each: separate members, each with its own connections. */
const PROCESSES = 4;
const APPLICATIONS_EACH = 16;
const SUCCESSORS = 8;

export const replacedBySmaller: Drill = {
  name: 'replaced-by-smaller',
  shows: '64 light processes are replaced by 8: no message is later than a second',
  times: 1,
  async run(stage) {
    await stage.use(OneRedis.start(WITH_FILE));
    const light = await Promise.all(
      Array.from({ length: PROCESSES }, async () => stage.startConsumer({ applications: APPLICATIONS_EACH })),
    );
    await stage.startProducer({ rate: 200 });
    await stage.allOwned(DEFAULTS.session);
    await stage.pause(2000);
    const from = stage.now();
    await Promise.all(Array.from({ length: SUCCESSORS }, async () => stage.startConsumer()));
    await stage.disturb('SIGTERM', async () => {
      for (const name of light) {
        stage.program(name).signal('SIGTERM');
        await stage.program(name).exit();
      }
    });
    const until = stage.now();
    await stage.allOwned(LEAVE);
    await stage.pause(2000);
    const history = await stage.finish({ latest: LEAVE, confirmsAll: true });
    const meanwhile = latenessOf(firstDeliveries(history).filter(({ at }) => at > from && at < until));
    stage.notes.push(`replaced within ${(until - from).toFixed(0)} ms, meanwhile ${describe(meanwhile)}`);
  },
};

async function stopFor(stage: Stage, name: string, milliseconds: number): Promise<void> {
  stage.program(name).signal('SIGSTOP');
  await stage.pause(milliseconds);
  stage.program(name).signal('SIGCONT');
}

/** How long after `at` the last partition that a process owned then had another owner; infinite if one never had. */
function handoverTook({ records }: History, process: string, at: number): number {
  const changes = records.filter((record) => record.kind === 'ownership');
  const last = new Map(
    changes
      .filter((change) => change.process === process && change.at < at)
      .map((change) => [change.partition, change.owned]),
  );
  const times = [...last].flatMap(([partition, owned]) => {
    if (!owned) return [];
    const next = changes.find(
      (change) => change.at >= at && change.partition === partition && change.owned && change.process !== process,
    );
    return [(next?.at ?? Infinity) - at];
  });
  return Math.max(0, ...times);
}
