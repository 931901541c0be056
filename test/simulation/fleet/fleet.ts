import type { SeededRandom } from '../../support/random.js';
import { exponential } from '../world/accidents.js';
import { WORST } from '../world/faults.js';
import type { Process } from './process.js';
import type { Scene } from './scene.js';
import { Slot } from './slot.js';
import { LEASE } from './topics.js';

/** Mean time after which a process that is gone is started again, in milliseconds. */
const RESTART = 2000;

/** Mean of a short standstill, in milliseconds; half of them are long, up to {@link LONGEST}. */
const SHORT = 500;
const LONGEST = 3 * LEASE;

/** Mean time between a call that a failover forgets and that failover, in milliseconds. */
const FORGETTING = 20;

/** The processes, and what befalls them. */
export class Fleet {
  readonly slots: readonly Slot[];
  readonly #scene: Scene;
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
        willRun: (call) => this.#willRun(call),
        hasRun: (process, call) => this.#hasRun(process, call),
        crash,
      });
    });
  }

  start(): void {
    const { world, accidents, faults } = this.#scene;
    const starts = world.random('starts');
    for (const slot of this.slots) world.after(starts.between(0, 500), () => this.begin(slot));
    this.#befall('killed', faults.killEvery, (random, slot) => this.#kill(random, slot));
    this.#befall('stopped', faults.freezeEvery, (random, { process }) => process?.freeze(standstill(random)));
    this.#befall('left', faults.leaveEvery, (random, slot) => {
      slot.leave(() => world.after(exponential(random, RESTART), () => this.begin(slot)));
    });
    this.#befall('deaf', faults.deafEvery, (random, { process }) => process?.link.deafen(exponential(random, 5000)));
    this.#befall('cut off', faults.cutOffEvery, (_random, { process }) => process?.link.deafen(Infinity));
    accidents.recur('stall', faults.stallEvery, (random) => {
      const { server } = this.#scene;
      server.stalledUntil = world.now + exponential(random, faults.stall);
    });
    accidents.recur('failover', faults.failOverEvery, (random) => this.#failOver(random, faults.lag));
    accidents.recur('full', faults.fullEvery, (random) => {
      this.#scene.server.fullUntil = world.now + exponential(random, faults.full);
    });
    accidents.recur('clock step', faults.stepEvery, (random) => {
      const by = random.between(-faults.step, faults.step);
      this.#scene.server.stepClock(by);
      this.#scene.rules.clockStepped(by);
      world.trace('redis', `its clock is set by ${Math.round(by)} ms`);
    });
  }

  /** The replica has what was written until now, and takes over a little later. */
  #failOver(random: SeededRandom, lag: number): void {
    const { world, server, faults, rules } = this.#scene;
    const snapshot = lag === Infinity ? undefined : server.snapshot();
    const since = lag === Infinity ? -Infinity : world.now;
    const wait = lag === Infinity ? 0 : exponential(random, lag);
    const { term } = server;
    world.after(wait, () => {
      // Another one was faster.
      if (server.term !== term) return;
      server.failOver(snapshot);
      server.loadingUntil = world.now + (faults.loading === 0 ? 0 : exponential(random, faults.loading));
      world.trace(
        'redis',
        `fails over, and has lost ${since === -Infinity ? 'all' : `${Math.round(world.now - since)} ms`}`,
      );
      rules.redisLost(since);
      for (const { process } of this.slots) {
        if (!process || process.isDead || random.next() < faults.staysBehind) continue;
        process.link.reset();
        process.link.rebuild('signals');
      }
    });
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

  /** What a call does may be all that the replica lacks. */
  #willRun(call: string): void {
    const { accidents, faults } = this.#scene;
    if (call !== this.#worst || !accidents.happens(`forgotten ${call}`, faults.forgottenWorst, '')) return;
    this.#failOver(accidents.random('forgetting'), FORGETTING);
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
