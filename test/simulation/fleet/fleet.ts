import type { SeededRandom } from '../../support/random.js';
import { exponential } from '../world/accidents.js';
import { WORST } from '../world/faults.js';
import { addJobs } from '../imports/jobs.js';
import { serveClients } from '../http/clients.js';
import { Outages } from './outages.js';
import type { Process } from './process.js';
import type { Scene } from './scene.js';
import { Slot, type SlotOptions } from './slot.js';
import { IMPORTED, LEASE } from './topics.js';

/** Mean time after which a process that is gone is started again, in milliseconds. */
const RESTART = 2000;

/** Mean of a short standstill, in milliseconds; half of them are long, up to {@link LONGEST}. */
const SHORT = 500;
const LONGEST = 3 * LEASE;

/** How long a process takes at most to boot, and a gateway to end, in milliseconds. */
const BOOT = 20_000;
const CLOSED = 20_000;

/** The processes, and what befalls them. */
export class Fleet {
  readonly slots: readonly Slot[];
  /** Where gateways and imports run. */
  readonly #services: readonly Slot[];
  readonly #scene: Scene;
  readonly outages: Outages;
  /** The kind of calls that goes wrong more often. */
  readonly #worst: string;

  constructor(scene: Scene, processes: number) {
    this.#scene = scene;
    this.#worst = scene.world.random('worst').pick(WORST);
    const events: Omit<SlotOptions, 'role' | 'isFirst'> = {
      willRun: (call, shard) => {
        if (call === this.#worst) this.outages.forget(call, shard);
      },
      hasRun: (process, call) => this.#hasRun(process, call),
      crash: (slot) => {
        scene.accidents.caused();
        this.#kill(scene.accidents.random('restart'), slot);
      },
    };
    this.slots = Array.from(
      { length: processes },
      (_, index) => new Slot(scene, index, { role: 'fleet', isFirst: index === 0, ...events }),
    );
    const { gateways, imports } = scene.faults;
    const importing = scene.topics.includes(IMPORTED) ? imports : 0;
    this.#services = Array.from({ length: gateways + importing }, (_, index) => {
      const role = index < gateways ? 'gateway' : 'import';
      return new Slot(scene, processes + index, { role, isFirst: index === 0, ...events });
    });
    this.outages = new Outages(scene, [...this.slots, ...this.#services]);
  }

  start(): void {
    const { world, faults, rules } = this.#scene;
    const starts = world.random('starts');
    for (const slot of this.slots) world.after(starts.between(0, 500), () => this.begin(slot));
    this.#befallAll(this.slots, '');
    this.outages.start();
    if (this.#services.length === 0) return;
    for (const slot of this.#services) world.after(starts.between(0, 500), () => this.begin(slot));
    this.#befallAll(this.#services, ' service');
    if (faults.gateways > 0) serveClients(this.#scene);
    if (this.#scene.topics.includes(IMPORTED) && faults.imports > 0) {
      addJobs(this.#scene).catch((error: unknown) => rules.failed('jobs are added', error));
    }
  }

  #befallAll(slots: readonly Slot[], what: string): void {
    const { world, faults } = this.#scene;
    const befall = (kind: string, every: number, happens: (random: SeededRandom, slot: Slot) => void): void => {
      this.#befall(slots, `${kind}${what}`, every, happens);
    };
    befall('killed', faults.killEvery, (random, slot) => this.#kill(random, slot));
    befall('stopped', faults.freezeEvery, (random, { process }) => process?.freeze(standstill(random)));
    befall('left', faults.leaveEvery, (random, slot) => {
      slot.leave(() => world.after(exponential(random, RESTART), () => this.begin(slot)));
    });
    befall('deaf', faults.deafEvery, (random, { process }) => process?.link.signals.deafen(exponential(random, 5000)));
    befall('cut off', faults.cutOffEvery, (_random, { process }) => process?.link.signals.deafen(Infinity));
  }

  /** A deploy of one process. */
  restart(slot: Slot): void {
    slot.leave(() => this.begin(slot));
  }

  #befall(
    slots: readonly Slot[],
    kind: string,
    every: number,
    befall: (random: SeededRandom, slot: Slot) => void,
  ): void {
    this.#scene.accidents.recur(kind, every, (random) => {
      const slot = random.pick(slots);
      if (slot.process && !slot.process.isDead) befall(random, slot);
    });
  }

  /** A process may die, or stand still, wherever one of its calls has taken effect. */
  #hasRun(process: Process, call: string): void {
    if (process.isDead) return;
    const { accidents, faults } = this.#scene;
    const slot = [...this.slots, ...this.#services].find((one) => one.process === process);
    if (!slot) return;
    const isWorst = call === this.#worst;
    if (
      accidents.happens('killed after a call', faults.killedCalls, process.name) ||
      (isWorst && accidents.happens(`killed after ${call}`, faults.killedWorst, process.name))
    ) {
      this.#kill(accidents.random('restart'), slot);
    } else if (
      accidents.happens('stopped after a call', faults.frozenCalls, process.name) ||
      (isWorst && accidents.happens(`stopped after ${call}`, faults.frozenWorst, process.name))
    ) {
      process.freeze(standstill(accidents.random('standstill')));
    }
  }

  #kill(random: SeededRandom, slot: Slot): void {
    slot.process?.end();
    this.#scene.world.after(exponential(random, RESTART), () => this.begin(slot));
  }

  /** Gateways and imports end, and nobody asks for them any more: what follows is about the rest of the fleet. */
  async closeServices(): Promise<void> {
    const { world, rules } = this.#scene;
    const running = (): Slot[] => this.#services.filter(({ process }) => process?.isDead === false);
    await world.runUntil(() => running().every(({ process }) => process?.connection), world.now + BOOT);
    this.#scene.isClosed = true;
    for (const slot of running()) slot.leave(() => {});
    if (await world.runUntil(() => running().length === 0, world.now + CLOSED)) return;
    const names = running().map(({ process }) => process?.name ?? '');
    rules.violated('left', `${names.join(' and ')} do not end`, names);
  }

  begin(slot: Slot): void {
    const { isClosed } = this.#scene;
    if (isClosed && this.#services.includes(slot)) return;
    slot.start().catch((error: unknown) => {
      if (slot.process?.isDead === false) slot.failed('starts', error);
    });
  }
}

function standstill(random: SeededRandom): number {
  return random.next() < 0.5 ? exponential(random, SHORT) : random.between(0, LONGEST);
}
