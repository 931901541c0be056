import { LEASE, type SimulatedTopic, TOPICS } from '../fleet/topics.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { isUnavailable } from './errors.js';
import type { Payload } from './payload.js';

const MOST_THROWS = 3;
const LONGEST = 3 * LEASE;
/** Mean of the delays, in milliseconds. */
const DELAY = 2000;
const PAUSE_AFTER_FAILURE = 100;
const PAUSE_WHILE_MANY_WAIT = 200;

const PRODUCERS = 6;

/** Producers, each of which publishes to one topic, with one key. */
export const produce: Activity = (setting) => {
  if (topicsOf(setting).length === 0) return;
  for (let number = 0; number < PRODUCERS; number++) setting.run('publishes', () => publishAll(setting, number));
};

function topicsOf({ scene }: Pick<Setting, 'scene'>): readonly string[] {
  return scene.topics.filter((name) => !TOPICS[name]?.apart);
}

/** Publishes one message after the other, each until it is known to be stored. */
async function publishAll({ scene, process, connection, random }: Setting, number: number): Promise<void> {
  const { rules, server, faults } = scene;
  const topic = random.pick(topicsOf({ scene }));
  const key = `${topic}-${process.name}-${number}`;
  const { most, ordered } = TOPICS[topic] as SimulatedTopic;
  const lag = random.next() < 0.5 ? 0 : random.between(0, DELAY);
  for (let index = 0; !scene.isEnding && process.connection; index++) {
    while (rules.messages.waiting(topic) >= most) await process.sleep(PAUSE_WHILE_MANY_WAIT);
    const id = `${key}-${index}`;
    const isDelayed = random.next() < 0.3;
    const delay = Math.round(ordered ? lag : isDelayed ? exponential(random, DELAY) : 0);
    const hangs = random.next() < faults.hangs;
    const isSlow = hangs || random.next() < faults.slow;
    const isShort = random.next() < 0.6;
    const takes = isSlow ? random.between(0, LONGEST) : isShort ? 0 : random.between(1, 60);
    const throws = random.next() < faults.throws ? random.integer(1, MOST_THROWS) : 0;
    const payload: Payload = { id, key, index, takes, throws, hangs, earliest: server.now() + delay };
    const publish = async (onDuplicate: 'reject' | 'ignore'): Promise<boolean> => {
      rules.publishing({ ...payload, topic });
      try {
        const { dueAt } = await connection.producer.publish(topic, payload, { id, key, delay, onDuplicate });
        rules.published(id, dueAt.getTime());
        return true;
      } catch (error) {
        if (!isUnavailable(error)) rules.refused(id, error);
        return false;
      } finally {
        rules.called(id);
      }
    };
    // Whether one that failed has stored it is not known.
    let isStored = await publish('reject');
    while (!isStored) {
      await process.sleep(PAUSE_AFTER_FAILURE);
      isStored = await publish('ignore');
    }
    if (random.next() < faults.again) await publish('ignore');
    await process.sleep(exponential(random, faults.pause));
  }
}
