import { leftovers } from '../fleet/leftovers.js';
import { OPERATED } from '../fleet/topics.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { served } from './errors.js';
import { MessageActions } from './message-actions.js';
import { TopicActions } from './topic-actions.js';

/** Pause between two attempts to undo something, in milliseconds. */
const PAUSE = 1000;

/** As often as each stands here. */
const ACTIONS: readonly ((messages: MessageActions, topic: TopicActions) => Promise<void>)[] = [
  ...Array.from({ length: 12 }, () => (messages: MessageActions) => messages.publish()),
  ...Array.from({ length: 2 }, () => (messages: MessageActions) => messages.cancel()),
  ...Array.from({ length: 2 }, () => (messages: MessageActions) => messages.reschedule()),
  ...Array.from({ length: 2 }, () => (messages: MessageActions) => messages.runNow()),
  ...Array.from({ length: 3 }, () => (messages: MessageActions) => messages.edit()),
  ...Array.from({ length: 2 }, () => (messages: MessageActions) => messages.requeue()),
  (messages) => messages.remove(),
  (_, topic) => topic.requeueAll(),
  (_, topic) => topic.runAll(),
  (_, topic) => topic.drain(),
  async (messages, topic) => topic.purge(await messages.dead()),
  (_, topic) => topic.pause(),
  (_, topic) => topic.resume(),
  (_, topic) => topic.resume(),
  (_, topic) => topic.hold(),
];

/** Somebody at each process who changes what waits, and stops and clears a topic. */
export const operate: Activity = (setting) => {
  if (setting.scene.topics.includes(OPERATED)) setting.run('operates', () => operateAll(setting));
};

async function operateAll(setting: Setting): Promise<void> {
  const { scene, process, random } = setting;
  const { faults } = scene;
  const messages = new MessageActions(setting);
  const topic = new TopicActions(setting);
  while (faults.operateEvery !== Infinity) {
    await process.sleep(exponential(random, faults.operateEvery));
    if (scene.isEnding || !process.connection) break;
    try {
      await served(() => random.pick(ACTIONS)(messages, topic));
    } catch (error) {
      // Where Redis loses all, there may be no such topic for a while.
      if (faults.lag !== Infinity || (error as { code?: unknown }).code !== 'INVALID_ARGUMENT') throw error;
    }
  }
  while (process.connection && !scene.isEnding) await process.sleep(PAUSE);
  try {
    await undo(setting, messages, topic);
  } catch (error) {
    // Where Redis has lost all in the end, nothing is left to undo.
    if ((error as { code?: unknown }).code !== 'INVALID_ARGUMENT') throw error;
  }
}

/** Leaves nothing behind: no pause, nothing that is due much later, and no dead letter. */
async function undo({ scene, process }: Setting, messages: MessageActions, topic: TopicActions): Promise<void> {
  while (process.connection && !(await served(() => topic.resume()))) await process.sleep(PAUSE);
  while (process.connection && !(await served(() => topic.runAll()))) await process.sleep(PAUSE);
  while (process.connection && leftovers(scene, [OPERATED]).length > 0) {
    await served(async () => {
      for (const message of await messages.dead()) await messages.requeueOne(message, { throws: 0 });
    });
    await process.sleep(PAUSE);
  }
}
