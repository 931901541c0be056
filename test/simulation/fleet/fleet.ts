import type { SeededRandom } from '../../support/random.js';
import { exponential } from '../world/accidents.js';
import { WORST } from '../world/faults.js';
import { Outages } from './outages.js';
import type { Process } from './process.js';
import type { Scene } from './scene.js';
import { Slot } from './slot.js';
import { LEASE } from './topics.js';

/** Mean time after which a process that is gone is started again, in milliseconds. */
const RESTART = 2000;

/** Mean of a short standstill, in milliseconds; half of them are long, up to {@link LONGEST}. */
const SHORT = 500;
const LONGEST = 3 * LEASE;

/** The processes, and what befalls them. */
export class Fleet {
  readonly slots: readonly Slot[];
  readonly #scene: Scene;
  readonly outages: Outages;
  /** The kind of calls that goes wrong more often. */
  readonly #worst: string;

  constructor(scene: Scene, processes: number) {
    this.#scene = scene;
    this.#worst = scene.world.random('worst').pick(WORST);
    this.slots = Array.from({ length: processes }, (_, index) => {
      const crash = (slot: Slot): void => {
        scene.accidents.caused();
        this.#kill(scene.accidents.random('restart'), slot);
      };
      return new Slot(scene, index, {
        willRun: (call, shard) => {
          if (call === this.#worst) this.outages.forget(call, shard);
        },
        hasRun: (process, call) => this.#hasRun(process, call),
        crash,
      });
    });
    this.outages = new Outages(scene, this.slots);
  }

  start(): void {
    const { world, faults } = this.#scene;
    const starts = world.random('starts');
    for (const slot of this.slots) world.after(starts.between(0, 500), () => this.begin(slot));
    this.#befall('killed', faults.killEvery, (random, slot) => this.#kill(random, slot));
    this.#befall('stopped', faults.freezeEvery, (random, { process }) => process?.freeze(standstill(random)));
    this.#befall('left', faults.leaveEvery, (random, slot) => {
      slot.leave(() => world.after(exponential(random, RESTART), () => this.begin(slot)));
    });
    this.#befall('deaf', faults.deafEvery, (random, { process }) =>
      process?.link.signals.deafen(exponential(random, 5000)),
    );
    this.#befall('cut off', faults.cutOffEvery, (_random, { process }) => process?.link.signals.deafen(Infinity));
    this.outages.start();
  }

  /** A deploy of one process. */
  restart(slot: Slot): void {
    slot.leave(() => this.begin(slot));
  }

  #befall(kind: string, every: number, befall: (random: SeededRandom, slot: Slot) => void): void {
    this.#scene.accidents.recur(kind, every, (random) => {
      const slot = random.pick(this.slots);
      if (slot.process && !slot.process.isDead) befall(random, slot);
    });
  }

  /** A process may die, or stand still, wherever one of its calls has taken effect. */
  #hasRun(process: Process, call: string): void {
    if (process.isDead) return;
    const { accidents, faults } = this.#scene;
    const slot = this.slots.find((one) => one.process === process);
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

  begin(slot: Slot): void {
    const { rules } = this.#scene;
    slot.start().catch((error: unknown) => {
      if (slot.process?.isDead === false) rules.failed(`${slot.process.name} starts`, error);
    });
  }
}

function standstill(random: SeededRandom): number {
  return random.next() < 0.5 ? exponential(random, SHORT) : random.between(0, LONGEST);
}
