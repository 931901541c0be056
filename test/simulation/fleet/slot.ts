import type { Backend } from '../../../lib/composition/backend.js';
import type { DelayQueueModuleOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { Log } from '../../../lib/log.js';
import { Gateway } from '../http/gateway.js';
import { importAll } from '../imports/importing.js';
import { createSimulatedBroker } from '../redis/simulated-broker.js';
import { Link } from '../redis/link.js';
import type { SeededRandom } from '../../support/random.js';
import type { Activity } from '../work/activity.js';
import { isForeign, isTransient } from '../work/errors.js';
import { debounce } from '../work/debouncers.js';
import { forwardsOf, handlersOf } from '../work/handlers.js';
import { operate } from '../work/operators.js';
import { produce } from '../work/producers.js';
import { produceMany } from '../work/batch-producers.js';
import { receive } from '../work/receivers.js';
import { declaredSchedules, schedule } from '../work/schedules.js';
import { Process, type ProcessOptions } from './process.js';
import type { Scene } from './scene.js';
import { LEASE, toldOptions } from './topics.js';

/** What each process does, besides handling messages. */
const ACTIVITIES: Readonly<Record<string, Activity>> = { produce, produceMany, debounce, receive, operate, schedule };

const OPTIONS: DelayQueueModuleOptions = {
  redis: 'redis://none',
  consumer: { lease: LEASE, maxIdleWait: 1000, concurrency: 60, shutdownTimeout: 1000 },
};

/** Share of the processes that are told of all limits. */
const TOLD = 0.6;

/** Pause between two attempts to connect, in milliseconds. */
const RETRY = 300;

/** What befalls a process of a slot. */
export interface SlotEvents extends Pick<ProcessOptions, 'willRun' | 'hasRun'> {
  readonly crash: (slot: Slot) => void;
}

export interface SlotOptions extends SlotEvents {
  /** What its processes are: those that handle messages and publish them, gateways, or imports. */
  readonly role: SlotRole;
  readonly isFirst: boolean;
}

type SlotRole = 'fleet' | 'gateway' | 'import';

/** A machine on which a process runs, ends, and is started again. */
export class Slot {
  process: Process | undefined;
  /** Whether that runs the other build. */
  #isOther = false;
  readonly #scene: Scene;
  readonly #index: number;
  readonly #isFirst: boolean;
  readonly #events: SlotEvents;
  readonly #role: SlotRole;
  readonly #work: SeededRandom;
  readonly #network: SeededRandom;
  readonly #jitter: SeededRandom;
  readonly #builds: SeededRandom;
  #starts = 0;

  /** @param isFirst whether it is the first one of its role: it is told all, so that what is limited is received as long as the fleet lasts */
  constructor(scene: Scene, index: number, { role, isFirst, ...events }: SlotOptions) {
    const { world } = scene;
    this.#scene = scene;
    this.#index = index;
    this.#events = events;
    this.#role = role;
    this.#isFirst = isFirst;
    this.#work = world.random(`work ${index}`);
    this.#network = world.random(`network ${index}`);
    this.#builds = world.random(`builds ${index}`);
    this.#jitter = world.random(`jitter ${index}`);
  }

  async start(): Promise<void> {
    if (this.#role === 'gateway') return this.#startGateway();
    if (this.#role === 'import') return this.#startImport();
    const process = this.#boot(this.#scene.copy.beside !== undefined && this.#builds.next() < 0.5);
    const connection = await this.#connect(process);
    const { rules, topics, world } = this.#scene;
    const handlers = handlersOf(this.#scene, process, connection);
    const hooks = topics.map((topic) => ({ name: 'Deaths.note', topic, call: rules.deaths.told }));
    await declaredSchedules(this.#scene, process, async (schedules) =>
      connection.consume({ handlers, hooks, schedules, findProvided: () => [] }),
    );
    this.#begin(process, connection);
    const run = (what: string, work: () => Promise<void>): void => {
      work().catch((error: unknown) => {
        if (this.process === process) this.failed(what, error);
        else rules.failed(`${process.name} ${what}`, error);
      });
    };
    for (const [name, begin] of Object.entries(ACTIVITIES)) {
      const random = world.random(`${name} ${process.name}`);
      begin({ scene: this.#scene, process, connection, random, run });
    }
  }

  /** Tells what has failed, unless a topic speaks a protocol that the other build does not know: then that build is replaced. */
  failed(what: string, error: unknown): void {
    if (this.#isOther && isForeign(error)) this.#events.crash(this);
    else this.#scene.rules.failed(`${this.process?.name} ${what}`, error);
  }

  /** One that handles nothing, and does what it is asked for over HTTP. */
  async #startGateway(): Promise<void> {
    const process = this.#boot();
    const connection = await this.#connect(process);
    await connection.consume({ handlers: [], hooks: [], schedules: [], findProvided: () => [] });
    process.gateway = new Gateway(this.#scene, process, connection);
    process.isService = true;
    this.#begin(process, connection);
  }

  /** One that moves the jobs of another queue. */
  async #startImport(): Promise<void> {
    const process = this.#boot();
    const connection = await this.#connect(process, { ...OPTIONS, consumer: false });
    this.#begin(process, connection);
    process.isService = true;
    await importAll(this.#scene, process, connection);
  }

  /** One that only publishes, when it is told to. */
  async startProducer(): Promise<void> {
    const process = this.#boot();
    this.#begin(process, await this.#connect(process, { ...OPTIONS, consumer: false }));
  }

  #begin(process: Process, connection: DelayQueueConnection): void {
    connection.booted(() => undefined);
    process.connection = connection;
    this.#scene.processes.add(process);
  }

  /** @param isOther whether it runs the other build: of those that handle messages, a deploy or a rollback has not reached some */
  #boot(isOther = false): Process {
    const { world, server, copy, faults, accidents } = this.#scene;
    const { beside } = copy;
    this.#isOther = isOther;
    const { product } = this.#isOther && beside ? beside : copy;
    const process = new Process({
      world,
      name: `${String.fromCodePoint(97 + this.#index)}${++this.#starts}`,
      skew: faults.skew * this.#work.between(-1, 1),
      drift: faults.drift * this.#work.between(-1, 1),
      isTold: this.#isFirst || this.#work.next() < TOLD,
      product,
      jitter: this.#jitter,
      ...this.#events,
      crash: () => this.#events.crash(this),
    });
    process.link = new Link({ world, server, product, host: process, faults, accidents, random: this.#network });
    this.process = process;
    world.trace(process.name, this.#isOther ? 'starts, with the other build' : 'starts');
    return process;
  }

  /** @param then called when it has ended as it should */
  leave(then: () => void): void {
    const { process } = this;
    const connection = process?.connection;
    if (!process || !connection) return;
    process.connection = undefined;
    process.gateway?.close();
    this.#scene.world.trace(process.name, 'leaves');
    connection
      .close()
      .catch((error: unknown) => this.#scene.rules.failed(`${process.name} leaves`, error))
      .finally(() => {
        if (process.isDead) return;
        process.end();
        then();
      })
      .catch(() => {});
  }

  async #connect(process: Process, base = OPTIONS): Promise<DelayQueueConnection> {
    const { server, world } = this.#scene;
    const { product } = process;
    const line = (level: string) => (text: string) => world.trace(process.name, `${level}: ${text}`);
    const log: Log = { log: line('log'), warn: line('warn'), error: line('error'), debug: () => {} };
    const watch = this.#scene.rules.watcherOf(process);
    const backend: Backend = {
      clock: process,
      expectsSignals: false,
      resolve: (given) => product.resolveOptions(given),
      createBroker: async () => ({
        broker: createSimulatedBroker({ product, link: process.link, server, clock: process, watch }),
        redis: {},
      }),
      watch: (handler) => handler,
      booted: () => {},
      whileStopping: async (stopping) => stopping,
    };
    const told = toldOptions(this.#scene.topics, process.isTold);
    const forwards = this.#role !== 'fleet' ? {} : forwardsOf(this.#scene, process);
    const topics = { ...told, ...forwards, ...this.#scene.deployed };
    const options = product.resolveOptions({ ...base, topics });
    const connection = await product.DelayQueueConnection.create({ name: 'default', options, backend, log });
    connection.events.tap('acked', ({ id, topic }) => this.#scene.rules.acked(id, process, topic));
    connection.events.tap('ownership', ({ topic, partition, owned }) => {
      if (owned) process.owned.add(`${topic}:${partition}`);
      else process.owned.delete(`${topic}:${partition}`);
    });
    connection.events.tap('errors', ({ source, error }) => {
      world.trace(process.name, `${source} error: ${(error as Error).message}`);
    });
    for (;;) {
      try {
        await connection.connect();
        return connection;
      } catch (error) {
        if (!isTransient(error)) throw error;
        await process.sleep(RETRY);
      }
    }
  }
}
