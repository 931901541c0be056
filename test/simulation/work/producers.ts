import { TOPICS, publishedTopics } from '../fleet/topics.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { drawLag, drawMessage } from './messages.js';
import { publish } from './publish.js';

/** In milliseconds. */
export const PAUSE_AFTER_FAILURE = 100;
export const PAUSE_WHILE_MANY_WAIT = 200;

const PRODUCERS = 6;

/** Producers, each of which publishes to one topic, with one key. */
export const produce: Activity = (setting) => {
  if (publishedTopics(setting.scene.topics).length === 0) return;
  for (let number = 0; number < PRODUCERS; number++) setting.run('publishes', () => publishAll(setting, number));
};

/** Publishes one message after the other, each until it is known to be stored. */
async function publishAll({ scene, process, connection, random }: Setting, number: number): Promise<void> {
  const { rules, faults } = scene;
  const topic = random.pick(publishedTopics(scene.topics));
  const key = `${topic}-${process.name}-${number}`;
  const most = TOPICS[topic]?.most ?? 0;
  const lag = drawLag(random);
  for (let index = 0; !scene.isEnding && process.connection; index++) {
    while (rules.messages.waiting(topic) >= most) await process.sleep(PAUSE_WHILE_MANY_WAIT);
    const { payload, delay } = drawMessage(scene, random, { topic, key, index, lag });
    const publishOnce = async (onDuplicate: 'reject' | 'ignore') =>
      publish(scene, connection.producer, { topic, payload, key, delay, onDuplicate });
    // Whether one that failed has stored it is not known.
    let stored = await publishOnce('reject');
    while (!stored) {
      await process.sleep(PAUSE_AFTER_FAILURE);
      stored = await publishOnce('ignore');
    }
    if (random.next() < faults.again) await publishOnce('ignore');
    await process.sleep(exponential(random, faults.pause));
  }
}
