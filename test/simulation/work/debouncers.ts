import { LONGEST_WAIT, QUIET, TOPICS } from '../fleet/topics.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { isUnavailable } from './errors.js';
import type { Payload } from './payload.js';
import { PAUSE_AFTER_FAILURE } from './producers.js';

const DEBOUNCERS = 2;

/** Publishes under one id, again and again. */
export const debounce: Activity = (setting) => {
  for (const topic of setting.scene.topics) {
    const { onDuplicate } = TOPICS[topic] ?? {};
    if (!onDuplicate) continue;
    for (let number = 0; number < DEBOUNCERS; number++) {
      const id = `${topic}-${setting.process.name}-${number}`;
      setting.run(`publishes ${id}`, () => publishVersions(setting, { topic, id, onDuplicate }));
    }
  }
};

interface Repeated {
  readonly topic: string;
  readonly id: string;
  readonly onDuplicate: 'replace' | 'ignore';
}

/** Each version has an id of its own for the rules. */
async function publishVersions(
  { scene, process, connection, random }: Setting,
  { topic, id, onDuplicate }: Repeated,
): Promise<void> {
  const { rules, server, faults } = scene;
  // One that replaces may be due earlier, since it must not wait too long.
  const wait = onDuplicate === 'replace' ? { maxWait: LONGEST_WAIT } : {};
  for (let index = 0; !scene.isEnding && process.connection; index++) {
    const throws = random.next() < faults.throws ? 1 : 0;
    const takes = random.next() < 0.5 ? 0 : random.between(1, QUIET);
    const version = `${id}-${index}`;
    let isFirst = true;
    const publish = async (): Promise<boolean> => {
      const earliest = server.now() + (onDuplicate === 'replace' ? 0 : QUIET);
      const payload: Payload = { id: version, key: id, index, takes, throws, hangs: false, earliest };
      rules.publishing({ ...payload, topic });
      try {
        const options = { id, delay: QUIET, onDuplicate, ...wait };
        const { dueAt, duplicate } = await connection.producer.publish(topic, payload, options);
        rules.published(version, dueAt.getTime());
        // One that was published before may have met itself.
        rules.repeated.confirmed(payload, duplicate && onDuplicate === 'ignore', isFirst);
        return true;
      } catch (error) {
        if (!isUnavailable(error)) rules.refused(version, error);
        isFirst = false;
        return false;
      } finally {
        rules.publishEnded(version);
      }
    };
    while (!(await publish())) await process.sleep(PAUSE_AFTER_FAILURE);
    await process.sleep(exponential(random, random.next() < 0.8 ? QUIET / 2 : 4 * QUIET));
  }
}
