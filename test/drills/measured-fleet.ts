import { fileURLToPath } from 'node:url';
import { TestProcess } from '../support/processes/test-process.js';
import { until } from '../support/waiting.js';
import type { MembersConfig, MembersReport } from './programs/members.js';
import type { OneRedis } from './servers/one-redis.js';

const PROGRAM = fileURLToPath(new URL('../../dist-test/drills/programs/members.js', import.meta.url));

/** Members that share a Node.js process, to save memory; elsewhere each has one of its own. */
const MEMBERS_TOGETHER = 10;

/** The partitions are shared once none has moved for so long, in milliseconds. */
const STILL = 3000;

/** What a busy machine does to processes, and what they do not do to themselves, in milliseconds. */
const STANDS_STILL = 500;

/** How long it may take until they are, in milliseconds. */
const PATIENCE = 300_000;

export interface FleetSize {
  readonly topics: number;
  /** Of each topic. */
  readonly partitions: number;
  readonly members: number;
}

/** What Redis has processed. */
export interface Load {
  readonly scripts: number;
  readonly subscriptions: number;
  readonly signals: number;
  readonly heartbeats: number;
  /** Everything, with the commands that scripts call. */
  readonly commands: number;
  /** CPU time of Redis, in milliseconds. */
  readonly cpu: number;
  /** CPU time for the reading of all sessions by the heartbeats, in microseconds. */
  readonly looking: number;
  /** What Redis has sent, in bytes. */
  readonly sent: number;
  /** How long it took, in milliseconds. */
  readonly lasted: number;
}

/** What it took to share the partitions anew. */
export interface Move extends Load {
  /** How often a partition was taken. */
  readonly moved: number;
  /** Until the last one was taken, in milliseconds. */
  readonly took: number;
  /** Whether a process stood still for so long that it may have looked whether it still owns its partitions. */
  readonly isDisturbed: boolean;
  /** CPU time of a process that had been there before, in milliseconds. */
  readonly cpuOfProcess: number;
  /** The longest time for which its event loop was blocked, in milliseconds; on a busy machine, also by other processes. */
  readonly blocked: number;
}

/** Some members of the fleet. */
class Members {
  readonly process: TestProcess;
  #report: MembersReport | undefined;

  constructor(name: string, config: MembersConfig) {
    this.process = new TestProcess(name, PROGRAM, [JSON.stringify(config)]);
    this.process.onMessage((message) => (this.#report = message as MembersReport));
  }

  async report(): Promise<MembersReport> {
    this.#report = undefined;
    this.process.send('report');
    return until(
      `${this.process.name} to answer`,
      () => {
        const { name, running, ending, output } = this.process;
        if (!running) throw new Error(`${name} has ended (${ending}). It printed:\n${output}`);
        return this.#report;
      },
      PATIENCE,
    );
  }
}

/** A fleet with nothing to do, and what it costs its Redis. Its first process has one member. */
export class MeasuredFleet {
  readonly size: FleetSize;
  readonly #redis: OneRedis;
  readonly #running: Members[] = [];
  /** The members of each process that runs. */
  readonly #members: number[] = [];
  /** How often processes that are gone have taken a partition. */
  #takenBefore = 0;

  constructor(redis: OneRedis, size: FleetSize) {
    this.#redis = redis;
    this.size = size;
  }

  /** Starts members. */
  grow(count: number): void {
    for (let left = count; left > 0;) {
      const members = this.#running.length === 0 ? 1 : Math.min(left, MEMBERS_TOGETHER);
      const { topics, partitions } = this.size;
      const config = { redis: this.#redis.address, topics, partitions, members };
      this.#running.push(new Members(`members-${this.#running.length}`, config));
      this.#members.push(members);
      left -= members;
    }
  }

  /** Ends the process that was started last. */
  async end(how: 'leave' | 'crash'): Promise<void> {
    const last = this.#running.pop();
    this.#members.pop();
    if (!last) return;
    this.#takenBefore += (await last.report()).taken;
    if (how === 'crash') await last.process.kill();
    else last.process.send('leave');
  }

  async kill(): Promise<void> {
    await Promise.all(this.#running.map(async ({ process }) => process.kill()));
  }

  /** Does something, and waits until the partitions are shared anew. */
  async move(action: () => Promise<void> | void): Promise<Move> {
    const before = await this.#reports();
    const takenBefore = this.#takenBefore;
    const beganAt = Date.now();
    let moved = 0;
    let took = 0;
    let blocked = 0;
    let cpuOfProcess = 0;
    let isDisturbed = false;
    const load = await this.load(async () => {
      await action();
      await until(
        'the partitions to be shared',
        async () => {
          const reports = await this.#reports();
          const [witness] = reports;
          blocked = Math.max(blocked, witness?.blocked ?? 0);
          isDisturbed ||= reports.some((report) => report.blocked > STANDS_STILL);
          cpuOfProcess = (witness?.cpu ?? 0) - (before[0]?.cpu ?? 0);
          moved = reports.reduce((sum, { taken }) => sum + taken, this.#takenBefore);
          const movedAt = Math.max(...reports.map((report) => report.movedAt));
          took = movedAt - beganAt;
          return took > 0 && Date.now() - movedAt > STILL && this.#areShared(reports);
        },
        PATIENCE,
      );
    });
    moved -= before.reduce((sum, { taken }) => sum + taken, takenBefore);
    return { ...load, moved, took, isDisturbed, cpuOfProcess, blocked };
  }

  /** What Redis processes meanwhile. */
  async load(action: () => Promise<void>): Promise<Load> {
    const before = await this.#counters();
    await action();
    const after = await this.#counters();
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Load]]),
    ) as unknown as Load;
  }

  #areShared(reports: readonly MembersReport[]): boolean {
    const { topics, partitions } = this.size;
    const owned = reports.reduce((sum, report) => sum + report.owned, 0);
    return owned === topics * partitions && reports.every(({ booted }, i) => booted === this.#members[i]);
  }

  async #reports(): Promise<MembersReport[]> {
    return Promise.all(this.#running.map(async (members) => members.report()));
  }

  async #counters(): Promise<Load> {
    return this.#redis.server.ask(async (client) => {
      const info = await client.info('everything');
      const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
      const calls = (command: string): number =>
        Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(info)?.[1] ?? 0);
      return {
        scripts: calls('evalsha') + calls('eval'),
        subscriptions: ['subscribe', 'unsubscribe', 'ssubscribe', 'sunsubscribe'].reduce((sum, c) => sum + calls(c), 0),
        signals: calls('publish') + calls('spublish'),
        heartbeats: calls('hgetall'),
        commands: field('total_commands_processed'),
        cpu: (field('used_cpu_user') + field('used_cpu_sys')) * 1000,
        looking: Number(/^cmdstat_hgetall:calls=\d+,usec=(\d+)/m.exec(info)?.[1] ?? 0),
        sent: field('total_net_output_bytes'),
        lasted: Date.now(),
      };
    });
  }
}
