import { LONGEST_WAIT, QUIET, TOPICS } from '../fleet/topics.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import type { Payload } from './payload.js';
import { PAUSE_AFTER_FAILURE } from './producers.js';
import { publish } from './publish.js';

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
    const publishOnce = async (isFirst: boolean): Promise<boolean> => {
      const earliest = server.now() + (onDuplicate === 'replace' ? 0 : QUIET);
      const payload: Payload = { id: version, key: id, index, takes, throws, hangs: false, earliest };
      const options = { topic, payload, id, delay: QUIET, onDuplicate, ...wait };
      const stored = await publish(scene, connection.producer, options);
      // One that was published before may have met itself.
      if (stored) rules.repeated.confirmed(payload, stored.duplicate === true && onDuplicate === 'ignore', isFirst);
      return stored !== undefined;
    };
    let isStored = await publishOnce(true);
    while (!isStored) {
      await process.sleep(PAUSE_AFTER_FAILURE);
      isStored = await publishOnce(false);
    }
    await process.sleep(exponential(random, random.next() < 0.8 ? QUIET / 2 : 4 * QUIET));
  }
}
