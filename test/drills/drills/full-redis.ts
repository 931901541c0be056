import type { PrivateRedis } from '../../support/servers/redis-server.js';
import { listAll } from '../../support/processes/list-all.js';
import { TOPIC } from '../../fleet/faults/programs/config.js';
import type { Drill } from '../drill.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import { DEFAULTS, type Stage } from '../stage.js';

const FAILING = 12_500;
const GOOD = 5000;

/** The failing messages lie in so many partitions at most, so that the others are not behind them. */
const KEYS = 4;

/** How much may be stored beyond the limit, as a share of it. */
const TOLERANCE = 0.1;

const LEASE = 4000;

/** How long Redis is full, in milliseconds: longer than a lease, which outcomes that wait must not lose. */
const FULL_FOR = 2 * LEASE;

/** How often its memory is looked at, in milliseconds. */
const BETWEEN_LOOKS = 50;

/** How soon everything has to be stored once there is room, in milliseconds: of the outcomes that wait each partition sends 16 a call. */
const STORED_WITHIN = 20_000;

export const fullRedis: Drill = {
  name: 'full-redis',
  shows: `Redis is full while ${FAILING} messages fail: acks go on, little is stored beyond the limit, and then all are dead letters`,
  times: 1,
  short: 1,
  async run(stage) {
    const redis = await stage.use(OneRedis.start(WITH_FILE));
    const admin = await stage.admin();
    const failing = await stage.startProducer({ rate: 5000, count: FAILING, keys: KEYS, maxDelay: 0 });
    const good = await stage.startProducer({ rate: 2500, count: GOOD, maxDelay: 2 * FULL_FOR });
    for (const name of [failing, good]) await stage.program(name).exit();
    await admin.pause(TOPIC);
    const consumers = { lease: LEASE, attempts: 1, failsOf: [failing], handlerTime: 10 };
    await Promise.all(Array.from({ length: 4 }, async () => stage.startConsumer(consumers)));
    await stage.allOwned(DEFAULTS.session);

    const limit = await memoryOf(redis.server);
    await setLimit(redis.server, limit);
    const fullAt = stage.now();
    await admin.resume(TOPIC);
    let highest = limit;
    while (stage.now() < fullAt + FULL_FOR) {
      highest = Math.max(highest, await memoryOf(redis.server));
      await stage.pause(BETWEEN_LOOKS);
    }
    const roomAt = stage.now();
    const { dead } = await admin.stats(TOPIC);
    await setLimit(redis.server, 0);

    await stage.expectSoon('no-dead-letters', `${FAILING} dead letters`, STORED_WITHIN, async () => {
      return (await admin.stats(TOPIC)).dead === FAILING;
    });
    const withErrors = await countWithErrors(stage);
    const history = await stage.finish();
    const settled = history.records.filter((record) => record.kind === 'settled');
    const acked = settled.filter(({ outcome, at }) => outcome === 'acked' && at < roomAt);
    const ackedLate = acked.filter(({ at }) => at > (fullAt + roomAt) / 2).length;
    const stale = settled.filter(({ outcome }) => outcome === 'stale').length;
    const beyond = highest / limit - 1;
    stage.notes.push(
      `limit ${limit} bytes, at most ${(100 * beyond).toFixed(1)} % more were used`,
      `while it was full: ${acked.length} acked, ${ackedLate} of them in the second half, and ${dead} dead`,
      `in the end ${withErrors} dead letters with their errors`,
    );
    stage.expect(beyond <= TOLERANCE, 'overfilled', `${(100 * beyond).toFixed(1)} % beyond the limit`);
    stage.expect(ackedLate > 0, 'no-acks', 'none in the second half of the time in which Redis was full');
    stage.expect(dead < FAILING / 2, 'not-full', `${dead} dead letters were stored although Redis was full`);
    stage.expect(withErrors === FAILING, 'no-errors', `${withErrors} dead letters have their errors`);
    stage.expect(stale === 0, 'stale', `${stale} outcomes came too late`);
  },
};

async function memoryOf(server: PrivateRedis): Promise<number> {
  return server.ask(async (client) => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]));
}

/** @param bytes 0: none */
async function setLimit(server: PrivateRedis, bytes: number): Promise<void> {
  await server.ask(async (client) => client.config('SET', 'maxmemory', String(bytes)));
}

/** How many dead letters have the error of their handler. */
async function countWithErrors(stage: Stage): Promise<number> {
  let count = 0;
  await listAll(await stage.admin(), {
    topic: TOPIC,
    state: 'dead',
    ask: async (peek) => {
      const page = await peek();
      count += page.messages.filter(({ failure }) => failure?.reason === 'failed' && failure.message !== '').length;
      return page;
    },
  });
  return count;
}
