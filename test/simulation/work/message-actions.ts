import { LEASE, OPERATED, type SimulatedTopic, TOPICS } from '../fleet/topics.js';
import type { Action, Operated } from '../rules/operator-rules.js';
import { isCurrent } from '../rules/run.js';
import { exponential } from '../world/accidents.js';
import type { Setting } from './activity.js';
import type { Payload } from './payload.js';
import { isUnreadable } from './errors.js';
import { publish } from './publish.js';
import { actOn, told } from './told.js';

/** Means, in milliseconds. */
const DELAY = 3000;
const LONG_DELAY = 60_000;

/** One that fails so often dies, perhaps even when it was requeued once. */
const MOST_THROWS = 5;

const KEYS = 8;

/** What an operator does to one message. */
export class MessageActions {
  readonly #setting: Setting;
  #count = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async publish(): Promise<void> {
    const { scene, process, connection, random } = this.#setting;
    const { rules, server, faults } = scene;
    const { most } = TOPICS[OPERATED] as SimulatedTopic;
    const id = `${OPERATED}-${process.name}-${this.#count++}`;
    const key = `${OPERATED}-${random.integer(1, KEYS)}`;
    const share = random.next();
    const delay = Math.round(share < 0.3 ? 0 : exponential(random, share < 0.8 ? DELAY : LONG_DELAY));
    const takes = random.next() < faults.slow ? random.between(0, LEASE) : random.between(0, 60);
    const throws = random.next() < 0.3 ? random.integer(1, MOST_THROWS) : 0;
    if (rules.messages.waiting(OPERATED) >= most) return;
    const payload: Payload = { id, key, index: 0, takes, throws, hangs: false, earliest: server.now() + delay };
    await publish(scene, connection.producer, { topic: OPERATED, payload, key, delay });
  }

  async cancel(): Promise<void> {
    const { operators } = this.#setting.scene.rules;
    await this.#one(async (message, ref, action, waited) => {
      operators.mayEnd(message);
      const running = message.run && isCurrent(message.run) ? message.run : undefined;
      const result = await this.#setting.connection.admin.cancel(OPERATED, ref);
      if (result === 'not-found') operators.notFound(message, action, waited);
      else if (result === 'in-flight') operators.cancelledInFlight(message, action, running);
      else operators.gone(message, action);
      return `is cancelled: ${result}`;
    });
  }

  async reschedule(): Promise<void> {
    const { scene, process, random, connection } = this.#setting;
    const { operators } = scene.rules;
    const dueAt = Math.ceil(scene.server.now() + exponential(random, DELAY));
    await this.#one(async (message, ref, action, waited) => {
      operators.moving(message, dueAt);
      let result: string | undefined;
      await told(message.dueAt, process, async () => {
        result = await connection.admin.reschedule(OPERATED, ref, { deliverAt: dueAt });
        return result === 'moved' ? dueAt : undefined;
      });
      if (result === 'moved') operators.moved(message, dueAt);
      if (result === 'not-found') operators.notFound(message, action, waited);
      return `is rescheduled: ${result}`;
    });
  }

  async runNow(): Promise<void> {
    const { scene, process, connection } = this.#setting;
    const { operators } = scene.rules;
    await this.#one(async (message, ref, action, waited) => {
      operators.moving(message, -Infinity);
      let result: string | undefined;
      await told(message.dueAt, process, async () => {
        result = await connection.admin.runNow(OPERATED, ref);
        return result === 'moved' ? -Infinity : undefined;
      });
      if (result === 'not-found') operators.notFound(message, action, waited);
      return `runs now: ${result}`;
    });
  }

  async edit(): Promise<void> {
    const { scene, process, connection } = this.#setting;
    await this.#one(async (message, ref, action, waited) => {
      const edition = ++message.editions;
      let result: string | undefined;
      await told(message.edition, process, async () => {
        const editing = connection.admin.edit(OPERATED, ref, { ...message.payload, edition });
        result = await editing.catch((error: unknown) => {
          if (!isUnreadable(error) || !scene.rules.messages.isDamaged(message.payload.id)) throw error;
          return 'damaged';
        });
        return result === 'edited' ? edition : undefined;
      });
      if (result === 'not-found') scene.rules.operators.notFound(message, action, waited);
      return `is edited: ${result}`;
    });
  }

  /** @param change answers what it did */
  async #one(
    change: (
      message: Operated,
      ref: string | { readonly id: string; readonly key: string },
      action: Action,
      waited: boolean,
    ) => Promise<string>,
  ): Promise<void> {
    const { scene, process, random } = this.#setting;
    const { operators } = scene.rules;
    const { current } = operators;
    if (current.length === 0) return;
    const message = random.pick(current);
    const { id, key } = message.payload;
    const waited = operators.waits(message, scene.world.now);
    const action = operators.asked(process, message);
    await actOn(this.#setting, action, async () => {
      // With its id alone it is looked for.
      const said = await change(message, random.next() < 0.5 ? id : { id, key }, action, waited);
      scene.world.trace(process.name, `${id} ${said}`);
    });
    operators.isSoon([message]);
  }

  // ── dead letters ────────────────────────────────────────────────────────────────────────────────────────────────────

  async requeue(): Promise<void> {
    const { random } = this.#setting;
    const dead = await this.dead();
    if (dead.length > 0) await this.requeueOne(random.pick(dead), { throws: random.integer(0, MOST_THROWS) });
  }

  async remove(): Promise<void> {
    const { scene, process, connection, random } = this.#setting;
    const { operators } = scene.rules;
    const dead = await this.dead();
    if (dead.length === 0) return;
    const message = random.pick(dead);
    const action = operators.asked(process, message);
    operators.mayEnd(message);
    await actOn(this.#setting, action, async () => {
      const { changed } = await connection.admin.remove(OPERATED, message.payload.id);
      if (changed === 1) operators.gone(message, action);
    });
  }

  async dead(): Promise<Operated[]> {
    const { scene, connection } = this.#setting;
    const { messages } = await connection.admin.peek(OPERATED, 'dead');
    return messages.flatMap(({ id }) => scene.rules.operators.get(id) ?? []);
  }

  async requeueOne(message: Operated, changes: Partial<Payload>): Promise<void> {
    const { scene, process, connection } = this.#setting;
    const { operators } = scene.rules;
    const edition = ++message.editions;
    const payload = { ...message.payload, ...changes, edition };
    operators.moving(message, -Infinity);
    await actOn(this.#setting, operators.asked(process, message), () =>
      told(message.edition, process, async () => {
        const { changed } = await connection.admin.requeue(OPERATED, message.payload.id, { payload });
        return changed === 1 ? edition : undefined;
      }),
    );
  }
}
