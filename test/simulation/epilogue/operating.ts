import { leftovers } from '../fleet/leftovers.js';
import type { Stage } from './stage.js';

/** How many of one key wait: more than one call removes. */
const MANY = 150;
const LONG_DELAY = 600_000;

/** Most of a key within the window of its rate, a part of that, and after how long all of them have begun, in milliseconds. */
const RATE = 3;
const WAITING = 500;
const HANDLED = 30_000;

const TWINS = 8;

/** How long a handler wants its topic to be held, and how soon that shows, in milliseconds. */
const HELD = 120_000;
const SHOWN = 3000;

/** An operator drains an ordered topic, where most wait behind others of their key: nothing is left. */
export async function drain(stage: Stage): Promise<void> {
  const [topic] = stage.handled('ordered');
  const [operator] = stage.running;
  if (topic === undefined || !operator) return;
  const { rules, server } = stage.scene;
  const deliverAt = server.now() + LONG_DELAY;
  for (let i = 0; i < MANY; i++) {
    const { id } = await stage.publish(topic, 'drained', { earliest: deliverAt }, { deliverAt });
    rules.messages.mayBeGone(id);
  }
  await stage.answer(operator.connection.admin.drain(topic));
  const left = leftovers(stage.scene, [topic]);
  if (left.length > 0) stage.violated(`${left.join(', ')} are left of a topic that was drained`, left);
}

/** An operator runs the first one of a key that waits for its rate: it stays the first one. */
export async function runHead(stage: Stage): Promise<void> {
  const [topic] = stage.handled('ordered-rated');
  const [operator] = stage.running;
  if (topic === undefined || !operator) return;
  for (let i = 0; i < 2 * RATE; i++) await stage.publish(topic, 'hurried');
  await stage.until(() => stage.scene.rules.messages.isDone(`hurried-${RATE - 1}`), HANDLED);
  await stage.wait(WAITING);
  await stage.answer(operator.connection.admin.runNow(topic, { id: `hurried-${RATE}`, key: 'hurried' }));
  await stage.assertHandled(HANDLED, 'the first one of a key was hurried');
}

/** An operator resumes a topic that a handler wanted to be held: it goes on in the process of that handler, too. */
export async function resumeHeld(stage: Stage): Promise<void> {
  const [topic] = stage.handled('busy');
  const [operator] = stage.running;
  if (topic === undefined || !operator) return;
  const trouble = { kind: 'limited', by: 'topic', delay: HELD, until: stage.scene.server.now() + SHOWN } as const;
  await stage.publish(topic, 'held', { trouble });
  await stage.wait(SHOWN);
  for (let i = 0; i < 8; i++) await stage.publish(topic, `held-${i}`);
  await stage.answer(operator.connection.admin.resume(topic));
  // What has met the limit comes again once it is over.
  stage.scene.rules.messages.mayBeGone('held-0');
  await stage.assertHandled(HANDLED, 'a topic was resumed that a handler had held');
}

/** Several messages have one id, each with a key of its own: an operator finds the one that is a dead letter, wherever the others are. */
export async function findTwins(stage: Stage): Promise<void> {
  const [topic] = stage.handled('few-attempts');
  const [operator] = stage.running;
  if (topic === undefined || !operator) return;
  const { rules, server } = stage.scene;
  const deliverAt = server.now() + LONG_DELAY;
  const ids = Array.from({ length: TWINS }, (_, number) => `twin-${number}`);
  for (const id of ids) {
    const waiting = await stage.publish(topic, `${id}-asleep`, { earliest: deliverAt }, { id, deliverAt });
    const dying = await stage.publish(topic, `${id}-dying`, { trouble: { kind: 'gives up' } }, { id });
    for (const one of [waiting, dying]) rules.messages.mayBeGone(one.id);
  }
  await stage.wait(SHOWN);
  for (const id of ids) {
    const { changed } = await stage.answer(operator.connection.admin.requeue(topic, id));
    if (changed === 0)
      stage.violated(`the dead letter ${id} is not found, since another message with this id waits`, [id]);
  }
}
