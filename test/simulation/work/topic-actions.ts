import { OPERATED } from '../fleet/topics.js';
import type { Action, Operated } from '../rules/operator-rules.js';
import { exponential } from '../world/accidents.js';
import type { Setting } from './activity.js';
import { actOn, told } from './told.js';

/** Mean, in milliseconds. */
const HOLD = 1500;

/** What an operator does to a topic. */
export class TopicActions {
  readonly #setting: Setting;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async runAll(): Promise<void> {
    const { connection } = this.#setting;
    await this.#actOnAll('moves', async () => void (await connection.admin.runNow(OPERATED, { all: true })));
  }

  async drain(): Promise<void> {
    const { scene, connection, random } = this.#setting;
    const { operators } = scene.rules;
    const dryRun = random.next() < 0.3;
    if (dryRun) return void (await connection.admin.drain(OPERATED, { dryRun }));
    const { now } = scene.world;
    const waiting = operators.current.filter((one) => operators.waits(one, now));
    await this.#actOnAll('ends', async (action) => {
      await connection.admin.drain(OPERATED);
      for (const one of waiting) {
        const isUntouched = one.open === 1 && one.touchedAt < now && one.begun === 0;
        if (isUntouched && (one.dueAt.value ?? 0) > scene.server.now()) operators.gone(one, action);
      }
    });
  }

  async pause(): Promise<void> {
    const { scene, process, connection } = this.#setting;
    const { paused } = scene.rules.operators;
    await told(paused, process, async () => {
      await connection.admin.pause(OPERATED);
      return true;
    });
    scene.world.trace(process.name, `${OPERATED} is paused`);
  }

  async resume(): Promise<void> {
    const { scene, process, connection } = this.#setting;
    const { operators } = scene.rules;
    await told(operators.heldUntil, process, async () => {
      await told(operators.paused, process, async () => {
        await connection.admin.resume(OPERATED);
        return false;
      });
      return -Infinity;
    });
    scene.world.trace(process.name, `${OPERATED} is resumed`);
    operators.isSoon(operators.current);
  }

  async hold(): Promise<void> {
    const { scene, process, connection, random } = this.#setting;
    const { heldUntil } = scene.rules.operators;
    const delay = Math.round(exponential(random, HOLD));
    const before = heldUntil.value ?? -Infinity;
    const least = Math.max(before, scene.server.now() + delay);
    await told(heldUntil, process, async () => {
      await connection.admin.hold(OPERATED, delay);
      return least;
    });
    scene.world.trace(process.name, `${OPERATED} is held for ${delay} ms`);
  }

  async requeueAll(): Promise<void> {
    const { connection } = this.#setting;
    await this.#actOnAll('moves', async () => void (await connection.admin.requeue(OPERATED, { all: true })));
  }

  /** @param dead those that surely are */
  async purge(dead: readonly Operated[]): Promise<void> {
    const { scene, connection } = this.#setting;
    const { operators } = scene.rules;
    const { now } = scene.world;
    await this.#actOnAll('ends', async (action) => {
      await connection.admin.purge(OPERATED);
      for (const one of dead) if (one.open === 1 && one.touchedAt < now) operators.gone(one, action);
    });
  }

  async #actOnAll(ofAll: 'ends' | 'moves', call: (action: Action) => Promise<void>): Promise<void> {
    const { scene, process } = this.#setting;
    const action = scene.rules.operators.askedOfAll(process, ofAll);
    await actOn(this.#setting, action, () => call(action));
  }
}
