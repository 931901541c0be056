import type { Fleet } from '../fleet/fleet.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import type { Payload } from '../work/payload.js';
import { publish } from '../work/publish.js';

/** So many that each partition of a topic has some. */
const FEW = 8;

/** A process that runs, with its connection. */
export type Running = Process & { readonly connection: NonNullable<Process['connection']> };

/** How long a process takes at most to boot, in milliseconds. */
const BOOT = 20_000;

type Options = Parameters<Running['connection']['producer']['publish']>[2];

export interface Published {
  readonly id: string;
  readonly partition: number;
}

/** What an epilogue does something with, once nothing goes wrong any more and all is done. */
export class Stage {
  readonly scene: Scene;
  readonly fleet: Fleet;
  /** How many of a key were published. */
  readonly #counts = new Map<string, number>();

  constructor(scene: Scene, fleet: Fleet) {
    this.scene = scene;
    this.fleet = fleet;
  }

  /** Those of the topics that the fleet handles. */
  handled(...topics: readonly string[]): string[] {
    return topics.filter((topic) => this.scene.topics.includes(topic));
  }

  get running(): Running[] {
    return [...this.scene.processes].filter((one): one is Running => !one.isDead && one.connection !== undefined);
  }

  /** Waits for those that are about to start. */
  async gather(): Promise<void> {
    const { slots } = this.fleet;
    await this.until(
      () => slots.every(({ process }) => process?.isDead === false && process.connection !== undefined),
      BOOT,
    );
  }

  /**
   * A deploy of the process of one machine.
   *
   * @returns `undefined` if it does not boot in time
   */
  async restart(index = 0): Promise<Running | undefined> {
    const slot = this.fleet.slots[index];
    const before = slot?.process;
    if (slot) this.fleet.restart(slot);
    const { world } = this.scene;
    await world.runUntil(() => slot?.process !== before && slot?.process?.connection !== undefined, world.now + BOOT);
    return this.running.find((one) => one === slot?.process);
  }

  /** Publishes a message of a key, which is due at once, and waits for the answer. */
  async publish(topic: string, key: string, work: Partial<Payload> = {}, options: Options = {}): Promise<Published> {
    const { server } = this.scene;
    const index = this.#counts.get(key) ?? 0;
    this.#counts.set(key, index + 1);
    const id = `${key}-${index}`;
    const payload: Payload = { id, key, index, takes: 0, throws: 0, hangs: false, earliest: server.now(), ...work };
    const [publisher] = this.running;
    if (!publisher) throw new Error('Nobody is left');
    const { producer } = publisher.connection;
    const stored = await this.answer(publish(this.scene, producer, { topic, payload, key, ...options }));
    if (!stored) throw new Error(`Nobody knows whether ${id} is stored`);
    return { id, partition: stored.partition ?? NaN };
  }

  /** Publishes a few messages, each with a key of its own, to each of the topics. */
  async publishToEach(topics: readonly string[], name: string): Promise<void> {
    for (const topic of topics) for (let i = 0; i < FEW; i++) await this.publish(topic, `${name}-${topic}-${i}`);
  }

  /** What a process answers, while the world goes on. */
  async answer<T>(answer: Promise<T>): Promise<T> {
    let isThere = false;
    void answer.then(
      () => (isThere = true),
      () => (isThere = true),
    );
    await this.scene.world.runUntil(() => isThere, Infinity);
    return answer;
  }

  async wait(duration: number): Promise<void> {
    await this.until(() => false, duration);
  }

  /** @returns whether it came true within so many milliseconds */
  async until(isTrue: () => boolean, duration: number): Promise<boolean> {
    const { world, rules } = this.scene;
    await world.runUntil(() => isTrue() || rules.isBroken, world.now + duration);
    return isTrue();
  }

  /** All that was published has to be handled within so many milliseconds. */
  async assertHandled(duration: number, what: string): Promise<void> {
    const { rules } = this.scene;
    if (await this.until(() => rules.messages.open === 0, duration)) return;
    this.violated(`${rules.messages.open} messages are not handled ${duration} ms after ${what}`);
  }

  violated(text: string, about: readonly string[] = []): void {
    if (!this.scene.rules.isBroken) this.scene.rules.violated('epilogue', text, about);
  }
}
