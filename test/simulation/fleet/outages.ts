import type { SeededRandom } from '../../support/random.js';
import type { Shard } from '../redis/shard.js';
import { exponential } from '../world/accidents.js';
import { damage } from './damages.js';
import type { Scene } from './scene.js';
import type { Slot } from './slot.js';

/** Mean time between a call that a failover forgets and that failover, in milliseconds. */
const FORGETTING = 20;

/** What befalls Redis, or a shard of a Cluster. */
export class Outages {
  readonly #scene: Scene;
  readonly #slots: readonly Slot[];
  /** How many shards are about to fail over: no slot moves meanwhile. */
  #failingOver = 0;

  constructor(scene: Scene, slots: readonly Slot[]) {
    this.#scene = scene;
    this.#slots = slots;
  }

  start(): void {
    const { world, accidents, faults, server, rules } = this.#scene;
    accidents.recur('stall', faults.stallEvery, (random) => {
      this.#pick(random).stalledUntil = world.now + exponential(random, faults.stall);
    });
    accidents.recur('failover', faults.failOverEvery, (random) => {
      this.#failOver(this.#pick(random), random, faults.lag);
    });
    accidents.recur('full', faults.fullEvery, (random) => {
      this.#pick(random).fullUntil = world.now + exponential(random, faults.full);
    });
    accidents.recur('clock step', faults.stepEvery, (random) => {
      const by = random.between(-faults.step, faults.step);
      server.stepClock(by);
      rules.clockStepped(by);
      world.trace('redis', `its clock is set by ${Math.round(by)} ms`);
    });
    accidents.recur('damage', faults.damageEvery, (random) => damage(this.#scene, random));
    if (!server.isCluster) return;
    accidents.recur('away', faults.awayEvery, (random) => {
      this.leave(this.#pick(random), exponential(random, faults.away));
    });
    accidents.recur('move', faults.moveEvery, (random) => this.#move(random));
    accidents.recur('down', faults.downEvery, (random) => {
      server.placement.downUntil = world.now + exponential(random, faults.down);
    });
  }

  /** What a call does may be all that the replica lacks. */
  forget(call: string, shard: Shard): void {
    const { accidents, faults } = this.#scene;
    if (!accidents.happens(`forgotten ${call}`, faults.forgottenWorst, '')) return;
    this.#failOver(shard, accidents.random('forgetting'), FORGETTING);
  }

  /** The replica has what was written until now, and takes over a little later. */
  #failOver(shard: Shard, random: SeededRandom, lag: number): void {
    const { world, server, faults, rules } = this.#scene;
    if (server.placement.isMoving) return;
    const snapshot = lag === Infinity ? undefined : server.snapshot();
    const since = lag === Infinity ? -Infinity : world.now;
    const wait = lag === Infinity ? 0 : exponential(random, lag);
    const { term } = shard;
    this.#failingOver++;
    world.after(wait, () => {
      this.#failingOver--;
      // Another one was faster, or what was undone in the end would come back.
      if (shard.term !== term || this.#scene.isEnding) return;
      server.failOver(shard, snapshot);
      shard.loadingUntil = world.now + (faults.loading === 0 ? 0 : exponential(random, faults.loading));
      const lost = since === -Infinity ? 'all' : `${Math.round(world.now - since)} ms`;
      world.trace(this.#nameOf(shard), `fails over, and has lost ${lost}`);
      rules.redisLost(since, (key) => server.placement.of(key) === shard);
      this.#cut(shard, () => random.next() < faults.staysBehind);
    });
  }

  /**
   * Nobody can connect to a shard, and what it holds is there when it is back.
   *
   * @param duration milliseconds
   */
  leave(shard: Shard, duration: number): void {
    const { world } = this.#scene;
    shard.awayUntil = world.now + duration;
    world.trace(this.#nameOf(shard), `is away for ${Math.round(duration)} ms`);
    this.#cut(shard);
  }

  #move(random: SeededRandom): void {
    const { world, server, faults } = this.#scene;
    const { placement, shards } = server;
    const { tags } = placement;
    if (tags.length === 0 || this.#failingOver > 0 || placement.isMoving) return;
    const tag = random.pick(tags);
    const to = random.pick(shards.filter((one) => one !== placement.of(tag)));
    const duration = exponential(random, faults.move);
    world.trace('redis', `${tag} moves to shard ${to.index} in ${Math.round(duration)} ms`);
    placement.move(tag, to, duration);
  }

  /**
   * Connections to it end.
   *
   * @param isKept whether one of them does not; what was subscribed to ends all the same where a node of a Cluster is none of its slots any more
   */
  #cut(shard: Shard, isKept = (): boolean => false): void {
    for (const { process } of this.#slots) {
      if (!process || process.isDead) continue;
      if (!isKept()) {
        process.link.reset(shard);
        process.link.rebuild('signals', shard);
      } else if (this.#scene.server.isCluster) process.link.signals.end(shard);
    }
  }

  #pick(random: SeededRandom): Shard {
    const { server } = this.#scene;
    return server.isCluster ? random.pick(server.shards) : (server.shards[0] as Shard);
  }

  #nameOf({ index }: Shard): string {
    return this.#scene.server.isCluster ? `shard ${index}` : 'redis';
  }
}
