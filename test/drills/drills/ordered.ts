import type { Drill } from '../drill.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import { DEFAULTS, type Stage } from '../stage.js';
import { clocksThatAreOff } from './clock-drills.js';

const MESSAGES = 100_000;
const KEYS = 1000;
const PRODUCERS = 2;

/** Messages per second of each producer. */
const RATE = 400;

/** What a killed process had claimed waits for its lease, and so do the messages behind it. */
const AFTER_KILL = DEFAULTS.lease + 60_000;

export const ordered: Drill = {
  name: 'ordered',
  shows:
    '100,000 messages of 1,000 keys fail, are put off, and stay in order, while processes whose clocks are off are killed, leave and join',
  times: 8,
  async run(stage, times) {
    stage.ordered = true;
    await stage.use(OneRedis.start(WITH_FILE));
    const clocks = clocksThatAreOff();
    const join = async (): Promise<string> =>
      stage.startConsumer({ failures: 0.05, putOffs: 0.05, handlerTime: 10 }, stage.random.pick(clocks));
    await Promise.all(Array.from({ length: 4 }, join));
    await Promise.all(
      Array.from({ length: PRODUCERS }, async (_, i) =>
        stage.startProducer({ rate: RATE, count: MESSAGES / PRODUCERS, keys: KEYS }, clocks[i]),
      ),
    );
    await stage.allOwned(2 * DEFAULTS.session);
    for (let i = 0; i < times; i++) {
      await stage.pause(5000, 10_000);
      await replaceOne(stage, i % 2 === 0, join);
    }
    await Promise.all(stage.producers.map(async (name) => stage.program(name).exit()));
    const history = await stage.finish({ settledWithin: AFTER_KILL, confirmsAll: true });
    const { confirmed = 0 } = stage.figures ?? {};
    stage.expect(confirmed === MESSAGES, 'unpublished', `${confirmed} of ${MESSAGES} messages were confirmed`);
    const retried = history.records.filter(({ kind }) => kind === 'delivery-started').length - confirmed;
    stage.notes.push(`${retried} deliveries were no first ones`);
  },
};

/** Another process takes the place of one that is killed, or that leaves. */
async function replaceOne(stage: Stage, kills: boolean, join: () => Promise<string>): Promise<void> {
  const name = stage.random.pick(stage.consumers);
  if (kills) {
    await stage.disturb('SIGKILL', async () => stage.program(name).kill(), { process: name, fatal: true });
  } else {
    await stage.disturb('SIGTERM', async () => {
      stage.program(name).signal('SIGTERM');
      await stage.program(name).exit();
    });
  }
  await join();
}
