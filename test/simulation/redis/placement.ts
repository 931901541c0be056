import type { World } from '../world/world.js';
import type { Shard } from './shard.js';

/** Which shard holds what: by the hash tags of keys and channels, each of which is taken for a slot. */
export class Placement {
  /** World time until which no shard serves any slot, as where a part of the Cluster is enough to stop all. */
  downUntil = 0;
  readonly #world: World;
  readonly #shards: readonly Shard[];
  readonly #onMoved: (tag: string) => void;
  readonly #places = new Map<string, Shard>();
  /** World time until which they are on their way. */
  readonly #moving = new Map<string, number>();

  /** @param onMoved told of the hash tag that another shard has now */
  constructor(world: World, shards: readonly Shard[], onMoved: (tag: string) => void) {
    this.#world = world;
    this.#shards = shards;
    this.#onMoved = onMoved;
  }

  of(key: string): Shard {
    const [first] = this.#shards as [Shard];
    if (this.#shards.length === 1) return first;
    const tag = tagOf(key);
    let place = this.#places.get(tag);
    if (!place) this.#places.set(tag, (place = this.#world.random(`place of ${tag}`).pick(this.#shards)));
    return place;
  }

  get tags(): string[] {
    return [...this.#places.keys()];
  }

  get isMoving(): boolean {
    return this.#moving.size > 0;
  }

  get wellFrom(): number {
    return Math.max(this.downUntil, ...this.#moving.values());
  }

  /** @param duration milliseconds until the other shard has all of it */
  move(tag: string, to: Shard, duration: number): void {
    this.#moving.set(tag, this.#world.now + duration);
    this.#world.after(duration, () => {
      this.#moving.delete(tag);
      this.#places.set(tag, to);
      this.#onMoved(tag);
    });
  }

  /** What a shard says of a key in place of an answer, and may say otherwise a little later; `undefined`: it answers. */
  refusal(key: string, isLucky: () => boolean): string | undefined {
    if (this.#world.now < this.downUntil) return 'CLUSTERDOWN The cluster is down';
    // A call is served if all that it is about is on the same side.
    if (this.#moving.has(tagOf(key)) && !isLucky()) return 'TRYAGAIN Multiple keys request during rehashing of slot';
    return undefined;
  }
}

function tagOf(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}
