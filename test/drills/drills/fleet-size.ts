import type { Drill } from '../drill.js';
import { type FleetSize, MeasuredFleet, type Move } from '../measured-fleet.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import type { Stage } from '../stage.js';

const SIZES: readonly FleetSize[] = [
  { topics: 20, partitions: 8, members: 10 },
  { topics: 100, partitions: 8, members: 100 },
  { topics: 200, partitions: 8, members: 40 },
  { topics: 1000, partitions: 8, members: 10 },
  { topics: 1000, partitions: 8, members: 40 },
];

/** How long a fleet with nothing to do is watched, in milliseconds. */
const WINDOW = 30_000;

/** Scripts that a partition may cost that moves: it is refused, released, acquired and looked into, and one of them twice. */
const MOST_SCRIPTS = 6;

/** Scripts that a process costs that boots or leaves, whatever it handles. */
const OWN_SCRIPTS = 30;

/** A heartbeat comes this often at least, in milliseconds; and so often each process may look for one change. */
const HEARTBEAT = 4250;
const MOST_LOOKS = 4;

export const fleetSize: Drill = {
  name: 'fleet-size',
  shows: 'a join, a graceful leave and a crash cost calls for the partitions that move, not for those that exist',
  times: 1,
  async run(stage) {
    for (const size of SIZES) await measure(stage, size);
  },
};

async function measure(stage: Stage, size: FleetSize): Promise<void> {
  const redis = await stage.use(OneRedis.start(WITH_FILE));
  const fleet = new MeasuredFleet(redis, size);
  const what = `${size.topics} topics × ${size.partitions}, ${size.members} processes`;
  const note = (name: string, move: Move): string => {
    const line = `${what}: ${name}: ${described(move)}`;
    stage.notes.push(line);
    return line;
  };
  const step = async (name: string, action: () => Promise<void> | void): Promise<void> => {
    const move = await fleet.move(action);
    const line = note(name, move);
    if (move.isDisturbed) {
      stage.notes.push('(not judged: a process stood still meanwhile)');
      return;
    }
    stage.expect(move.scripts <= MOST_SCRIPTS * move.moved + OWN_SCRIPTS, 'scripts', line);
    const looks = move.heartbeats / (size.members + 1) - move.lasted / HEARTBEAT;
    stage.expect(looks <= MOST_LOOKS, 'heartbeats', line);
  };
  try {
    note('all join', await fleet.move(() => fleet.grow(size.members)));
    stage.notes.push(`${what}: idle: ${await idle(stage, fleet)}`);
    await step('one more joins', () => fleet.grow(1));
    await step('it leaves', async () => fleet.end('leave'));
    await step('one more joins', () => fleet.grow(1));
    await step('it crashes', async () => fleet.end('crash'));
  } finally {
    await fleet.kill();
    await redis.stop();
  }
}

async function idle(stage: Stage, fleet: MeasuredFleet): Promise<string> {
  const { commands, heartbeats, looking, sent, cpu } = await fleet.load(async () => stage.pause(WINDOW));
  const perSecond = (value: number): string => ((value * 1000) / WINDOW).toFixed(1);
  return (
    `${perSecond(commands)} commands/s, ${perSecond(heartbeats)} heartbeats/s, ${perSecond(sent / 1000)} kB/s sent, ` +
    `a look ${(looking / heartbeats).toFixed(0)} µs, CPU of Redis ${((cpu * 100) / WINDOW).toFixed(2)} %`
  );
}

function described({
  moved,
  took,
  scripts,
  subscriptions,
  signals,
  heartbeats,
  commands,
  cpu,
  sent,
  cpuOfProcess,
  blocked,
}: Move): string {
  return (
    `${moved} moved in ${took} ms, ${scripts} scripts (${(scripts / moved).toFixed(1)} each), ${subscriptions} subscriptions, ` +
    `${signals} signals, ${heartbeats} heartbeats, ${commands} commands, ${(sent / 1000).toFixed(0)} kB, ` +
    `CPU of Redis ${cpu.toFixed(0)} ms, of a process ${cpuOfProcess.toFixed(0)} ms, blocked ${blocked.toFixed(0)} ms`
  );
}
