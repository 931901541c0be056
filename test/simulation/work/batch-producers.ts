import { TOPICS, publishedTopics } from '../fleet/topics.js';
import type { PublishManyError } from '../../../lib/messages/publish-many.error.js';
import type { PublishedMessage } from '../../../lib/messages/publish-options.interface.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { isUnavailable } from './errors.js';
import { drawLag, drawMessage } from './messages.js';
import { PAUSE_AFTER_FAILURE, PAUSE_WHILE_MANY_WAIT } from './producers.js';

/** Keys of one producer, so that what it publishes together goes to several partitions. */
const KEYS = 3;
const MOST_AT_ONCE = 12;

type Drawn = ReturnType<typeof drawMessage>;
type Results = readonly PromiseSettledResult<PublishedMessage>[];

/** A producer that publishes many messages with one call. */
export const produceMany: Activity = (setting) => {
  if (publishedTopics(setting.scene.topics).length === 0) return;
  setting.run('publishes many', () => publishBatches(setting));
};

async function publishBatches(setting: Setting): Promise<void> {
  const { scene, process, random } = setting;
  const topic = random.pick(publishedTopics(scene.topics));
  const most = TOPICS[topic]?.most ?? 0;
  const lag = drawLag(random);
  const indexes = Array.from({ length: KEYS }, () => counter());
  while (!scene.isEnding && process.connection) {
    while (scene.rules.messages.waiting(topic) >= most) await process.sleep(PAUSE_WHILE_MANY_WAIT);
    const size = random.integer(2, MOST_AT_ONCE);
    let left = Array.from({ length: size }, () => {
      const [nth, next] = random.pick([...indexes.entries()]);
      const key = `${topic}-${process.name}-many${nth}`;
      return drawMessage(scene, random, { topic, key, index: next(), lag });
    });
    left = await publish(setting, topic, left, 'reject');
    while (left.length > 0) {
      await process.sleep(PAUSE_AFTER_FAILURE);
      left = await publish(setting, topic, left, 'ignore');
    }
    await process.sleep(exponential(random, size * scene.faults.pause));
  }
}

/** @returns those that may not be stored */
async function publish(
  { scene, connection }: Setting,
  topic: string,
  messages: readonly Drawn[],
  onDuplicate: 'reject' | 'ignore',
): Promise<Drawn[]> {
  const { rules } = scene;
  for (const { payload } of messages) rules.publishing(topic, payload);
  const given = messages.map(({ payload, delay }) => {
    const { id, key } = payload;
    return { payload, options: { id, key, delay, onDuplicate } };
  });
  const results = await settledOf(connection.producer.publishMany(topic, given), messages.length);
  for (const { payload } of messages) rules.publishEnded(payload.id);
  return messages.filter(({ payload: { id } }, i) => {
    const result = results[i] as Results[number];
    if (result.status === 'fulfilled') rules.published(id, result.value.dueAt.getTime());
    else if (!isUnavailable(result.reason)) rules.refused(id, result.reason);
    return result.status === 'rejected';
  });
}

/** What became of each of so many messages. */
async function settledOf(publishing: Promise<PublishedMessage[]>, count: number): Promise<Results> {
  try {
    return (await publishing).map((value) => ({ status: 'fulfilled', value }));
  } catch (error) {
    const { results } = error as Partial<PublishManyError>;
    return results ?? Array.from({ length: count }, () => ({ status: 'rejected', reason: error }));
  }
}

function counter(): () => number {
  let next = 0;
  return () => next++;
}
