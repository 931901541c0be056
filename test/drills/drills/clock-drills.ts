import { faketimeLibrary } from '../../../scripts/setup/faketime.mjs';
import type { Drill } from '../drill.js';
import { OneRedis, RedisWithClock, fakedClock } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';

/** How far the server's clock may jump, in milliseconds: less than a lease, and more than a heartbeat. */
const STEP = 8000;

/** How far the clocks of processes are off, in seconds. */
const OFFSETS = [3600, -3600, 45, -7];

export const serverClock: Drill = {
  name: 'server-clock',
  shows: "the server's clock begins an hour ahead, and jumps forward and back: nothing is early, stuck, or run twice",
  times: 10,
  short: 3,
  async run(stage, times) {
    const servers = await stage.use(RedisWithClock.start(faketimeLibrary(), stage.folder, WITH_FILE));
    let offset = 3_600_000;
    const set = (): void => {
      // Said before it is done: what runs in between, by a clock that has jumped forward, is not early.
      stage.clockSet(offset);
      servers.setClock(offset);
    };
    set();
    await stage.startFleet({ rate: 200 });
    for (let i = 0; i < times; i++) {
      await stage.pause(2000, 3000);
      offset += stage.random.pick([-1, 1]) * stage.random.integer(500, STEP);
      await stage.disturb(`clock at ${offset}`, async () => set());
    }
    await stage.pause(2000);
    await stage.finish({ settledWithin: STEP + 15_000, confirmsAll: true });
  },
};

export const processClocks: Drill = {
  name: 'process-clocks',
  shows: 'the clocks of the processes are off by an hour, and by seconds: nothing is early, and nothing is late',
  times: 1,
  short: 1,
  async run(stage) {
    await stage.use(OneRedis.start(WITH_FILE));
    const clocks = clocksThatAreOff();
    await Promise.all(clocks.map(async (clock) => stage.startConsumer({}, clock)));
    await Promise.all(clocks.slice(0, 2).map(async (clock) => stage.startProducer({ rate: 100 }, clock)));
    await stage.pause(8000);
    // Whoever went by its own clock would be late by seven seconds at least.
    await stage.finish({ latest: 2000, confirmsAll: true });
  },
};

/** Environments of processes whose clocks are off. */
export function clocksThatAreOff(): NodeJS.ProcessEnv[] {
  const library = faketimeLibrary();
  return OFFSETS.map((seconds) => ({
    ...fakedClock(library),
    FAKETIME: seconds < 0 ? `${seconds}s` : `+${seconds}s`,
  }));
}
