import { fileURLToPath } from 'node:url';
import { TestProcess } from '../../support/processes/test-process.js';
import { until } from '../../support/waiting.js';
import type { Drill } from '../drill.js';
import type { IdleConfig } from '../programs/idle.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import type { Stage } from '../stage.js';

/** Redis commands per second that a process may cost while nothing is due. */
const MOST_COMMANDS = 1;

/** How long a process joins its topics before it is measured, and how long it is measured, in milliseconds. */
const SETTLE = 20_000;
const WINDOW = 60_000;
const SHORT_SETTLE = 8000;
const SHORT_WINDOW = 15_000;

/** How long a process may take to boot, in milliseconds. */
const BOOT = 60_000;

/** What a reading costs: ioredis asks for INFO when it is ready, then comes ours. Those before are in the first reading. */
const OWN_COMMANDS = 4;

const PROGRAM = fileURLToPath(new URL('../../../dist-test/drills/programs/idle.js', import.meta.url));

/** What one process handles. */
type Idling = Omit<IdleConfig, 'redis'>;

const EVERYTHING: readonly Idling[] = [
  { topics: 1, partitions: 1 },
  { topics: 1, partitions: 8 },
  { topics: 1, partitions: 64 },
  { topics: 200, partitions: 8 },
];

export const idle: Drill = {
  name: 'idle',
  shows: `a process with nothing to do costs Redis at most ${MOST_COMMANDS} command a second, whatever it handles`,
  times: 1,
  async run(stage) {
    for (const idling of EVERYTHING) await measure(stage, idling, SETTLE, WINDOW);
  },
};

export const idleBriefly: Drill = {
  name: 'idle-briefly',
  shows: `a process with 64 partitions and nothing to do costs Redis at most ${MOST_COMMANDS} command a second`,
  times: 1,
  short: 1,
  async run(stage) {
    await measure(stage, { topics: 1, partitions: 64 }, SHORT_SETTLE, SHORT_WINDOW);
  },
};

async function measure(stage: Stage, idling: Idling, settle: number, window: number): Promise<void> {
  const redis = await stage.use(OneRedis.start(WITH_FILE));
  const config: IdleConfig = { redis: redis.address, ...idling };
  const process = new TestProcess('idle', PROGRAM, [JSON.stringify(config)]);
  try {
    const answers: number[] = [];
    process.onMessage((answer) => answers.push(Number(answer)));
    await until('the process to have booted', () => answers.length > 0, BOOT);
    await stage.pause(settle);
    const before = await read(redis);
    process.send('cpu');
    await stage.pause(window);
    process.send('cpu');
    const after = await read(redis);
    const [, , cpu = NaN] = await until('the CPU time', () => answers.length === 3 && answers);
    const commands = ((after.commands - before.commands - OWN_COMMANDS) * 1000) / window;
    const what = `topics: ${idling.topics}, partitions of each: ${idling.partitions}`;
    stage.notes.push(
      `${what}: ${commands.toFixed(2)} commands/s, CPU of the process ${((cpu * 100) / window).toFixed(2)} %, ` +
        `of Redis ${(((after.cpu - before.cpu) * 100_000) / window).toFixed(2)} %`,
    );
    stage.expect(commands <= MOST_COMMANDS, 'not-silent', `${what}: ${commands.toFixed(2)} commands/s`);
  } finally {
    await process.kill();
  }
}

/** Commands and CPU time of Redis since it started; seconds. */
async function read(redis: OneRedis): Promise<{ readonly commands: number; readonly cpu: number }> {
  return redis.server.ask(async (client) => {
    const info = await client.info();
    const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
    return {
      commands: field('total_commands_processed'),
      cpu: field('used_cpu_user') + field('used_cpu_sys'),
    };
  });
}
