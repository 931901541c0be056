import { leftovers } from '../fleet/leftovers.js';
import { LEASE, OPERATED, type SimulatedTopic, TOPICS } from '../fleet/topics.js';
import { type Action, type Operated, told } from '../rules/operator-rules.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { isUnavailable } from './errors.js';
import type { Payload } from './payload.js';

/** Means, in milliseconds. */
const DELAY = 3000;
const LONG_DELAY = 60_000;
const HOLD = 1500;

/** One that fails so often dies, perhaps even when it was requeued once. */
const MOST_THROWS = 5;

/** Pause between two attempts to undo something, in milliseconds. */
const PAUSE = 1000;

const KEYS = 8;

/** Somebody at each process who changes what waits, and stops and clears a topic. */
export const operate: Activity = (setting) => {
  const { scene, run } = setting;
  if (!scene.topics.includes(OPERATED)) return;
  run('operates', () => operateAll(new Operator(setting), setting));
};

async function operateAll(operator: Operator, { scene, process, random }: Setting): Promise<void> {
  const { faults } = scene;
  while (!scene.isEnding && faults.operateEvery !== Infinity) {
    await process.sleep(exponential(random, faults.operateEvery));
    if (scene.isEnding || !process.connection) break;
    const action = random.pick(ACTIONS);
    await operator.attempt(() => operator[action]());
  }
  while (process.connection && !scene.isEnding) await process.sleep(PAUSE);
  if (process.connection) await operator.undo();
}

/** As often as each stands here. */
const ACTIONS = [
  ...Array.from({ length: 12 }, () => 'publish' as const),
  ...(['cancel', 'cancel', 'reschedule', 'reschedule', 'runNow', 'runNow', 'edit', 'edit', 'edit'] as const),
  ...([
    'requeue',
    'requeue',
    'requeueAll',
    'remove',
    'runAll',
    'drain',
    'purge',
    'pause',
    'resume',
    'resume',
    'hold',
  ] as const),
];

class Operator {
  readonly #setting: Setting;
  #count = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** @returns whether Redis has served it */
  async attempt(action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return false;
    }
  }

  /** Leaves nothing behind: no pause, nothing that is due much later, and no dead letter. */
  async undo(): Promise<void> {
    const { scene, process } = this.#setting;
    while (process.connection && !(await this.attempt(() => this.resume()))) await process.sleep(PAUSE);
    while (process.connection && !(await this.attempt(() => this.runAll()))) await process.sleep(PAUSE);
    while (process.connection && leftovers(scene, [OPERATED]).length > 0) {
      await this.attempt(async () => {
        for (const message of await this.#dead()) await this.#requeue(message, { throws: 0 });
      });
      await process.sleep(PAUSE);
    }
  }

  // ── one message ─────────────────────────────────────────────────────────────────────────────────────────────────────

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
    rules.publishing({ ...payload, topic: OPERATED });
    rules.operators.publishing(payload);
    try {
      const { dueAt } = await connection.producer.publish(OPERATED, payload, { id, key, delay });
      rules.published(id, dueAt.getTime());
    } finally {
      rules.called(id);
    }
  }

  async cancel(): Promise<void> {
    const { operators } = this.#setting.scene.rules;
    await this.#one(async (message, ref, action, waited) => {
      operators.mayEnd([message]);
      const result = await this.#setting.connection.admin.cancel(OPERATED, ref);
      if (result === 'not-found') operators.notFound(message, action, waited);
      else operators.gone(message, action, result === 'in-flight');
      return `is cancelled: ${result}`;
    });
  }

  async reschedule(): Promise<void> {
    const { scene, process, random, connection } = this.#setting;
    const { operators } = scene.rules;
    const dueAt = Math.ceil(scene.server.now() + exponential(random, DELAY));
    await this.#one(async (message, ref, action, waited) => {
      operators.moving(message, dueAt);
      const change = message.dueAt.asked(process);
      const result = await connection.admin.reschedule(OPERATED, ref, { deliverAt: dueAt }).catch((error: unknown) => {
        message.dueAt.failed(change);
        throw error;
      });
      if (result === 'moved') operators.moved(message, change, dueAt);
      else message.dueAt.without(change);
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
        result = await connection.admin.edit(OPERATED, ref, { ...message.payload, edition });
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
    const action = operators.asked([message]);
    // With its id alone it is looked for.
    const said = await change(message, random.next() < 0.5 ? id : { id, key }, action, waited);
    scene.world.trace(process.name, `${id} ${said}`);
    operators.ended(action);
    operators.isSoon([message]);
  }

  // ── dead letters ────────────────────────────────────────────────────────────────────────────────────────────────────

  async requeue(): Promise<void> {
    const { random } = this.#setting;
    const dead = await this.#dead();
    if (dead.length > 0) await this.#requeue(random.pick(dead), { throws: random.integer(0, MOST_THROWS) });
  }

  async requeueAll(): Promise<void> {
    const { scene, connection } = this.#setting;
    const { operators } = scene.rules;
    const action = operators.asked(operators.current);
    await connection.admin.requeue(OPERATED, { all: true });
    operators.ended(action);
  }

  async remove(): Promise<void> {
    const { scene, connection, random } = this.#setting;
    const { operators } = scene.rules;
    const dead = await this.#dead();
    if (dead.length === 0) return;
    const message = random.pick(dead);
    const action = operators.asked([message]);
    operators.mayEnd([message]);
    const { removed } = await connection.admin.remove(OPERATED, message.payload.id);
    if (removed === 1) operators.gone(message, action);
    operators.ended(action);
  }

  async purge(): Promise<void> {
    const { scene, connection } = this.#setting;
    const { operators } = scene.rules;
    const { now } = scene.world;
    const dead = await this.#dead();
    const action = operators.asked(operators.current);
    operators.mayEnd(operators.current.filter(({ begun }) => begun > 0));
    await connection.admin.purge(OPERATED);
    for (const one of dead) if (one.open === 1 && one.touchedAt < now) operators.gone(one, action);
    operators.ended(action);
  }

  async #dead(): Promise<Operated[]> {
    const { scene, connection } = this.#setting;
    const { messages } = await connection.admin.peek(OPERATED, 'dead');
    return messages.flatMap(({ id }) => scene.rules.operators.get(id) ?? []);
  }

  async #requeue(message: Operated, changes: Partial<Payload>): Promise<void> {
    const { scene, process, connection } = this.#setting;
    const { operators } = scene.rules;
    const action = operators.asked([message]);
    const edition = ++message.editions;
    const payload = { ...message.payload, ...changes, edition };
    operators.moving(message, -Infinity);
    await told(message.edition, process, async () => {
      const { requeued } = await connection.admin.requeue(OPERATED, message.payload.id, { payload });
      return requeued === 1 ? edition : undefined;
    });
    operators.ended(action);
  }

  // ── the topic ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async runAll(): Promise<void> {
    const { scene, connection } = this.#setting;
    const { operators } = scene.rules;
    const { current } = operators;
    const action = operators.asked(current);
    for (const message of current) operators.moving(message, -Infinity);
    await connection.admin.runNow(OPERATED, { all: true });
    operators.ended(action);
  }

  async drain(): Promise<void> {
    const { scene, connection, random } = this.#setting;
    const { operators } = scene.rules;
    const { current } = operators;
    const dryRun = random.next() < 0.3;
    if (dryRun) return void (await connection.admin.drain(OPERATED, { dryRun }));
    const { now } = scene.world;
    const waiting = current.filter((one) => operators.waits(one, now));
    const action = operators.asked(current);
    operators.mayEnd(current);
    await connection.admin.drain(OPERATED);
    for (const one of waiting) {
      const isUntouched = one.open === 1 && one.touchedAt < now && one.begun === 0;
      if (isUntouched && (one.dueAt.value ?? 0) > scene.server.now()) operators.gone(one, action);
    }
    operators.ended(action);
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
}
