import { until } from '../../../support/waiting.js';
import { TOPIC } from '../programs/config.js';
import { TIMING, type World } from '../world.js';
import type { Scenario } from './scenario.js';

/** Few, so that messages that are no good end soon. */
const ATTEMPTS = 3;

/** Room for calls that hang and for no others, if they kept it. */
const SLOTS = 4;
const HANGING = 3 * SLOTS;

/** Milliseconds. */
const TIMEOUT = 300;

export const hungHandlers: Scenario = {
  name: 'hung-handlers',
  shows: 'handlers hang and heed no signal: their messages die by their attempts, and all others are handled',
  length: 'long',
  async run(world) {
    const hanging = Array.from({ length: HANGING }, (_, i) => `p3-${20 + 5 * i}`);
    const options = {
      attempts: ATTEMPTS,
      timeout: TIMEOUT,
      failures: 0,
      handlerTime: 10,
      concurrency: SLOTS,
      hangsOn: hanging,
      watchesHealth: true,
    };
    for (let i = 0; i < 2; i++) await world.startConsumer(options);
    await world.startProducer({ rate: 100, cancellations: 0 });
    await expectDeadLetters(world, hanging, 'HANDLER_TIMEOUT', (ATTEMPTS + 1) * 10 * TIMEOUT);
    await world.expectSoon('not-told', 'health to tell of the calls that go on', 10 * TIMING.lease, async () =>
      world.records().some((record) => record.kind === 'health' && record.problems.some(tellsOfOvertime)),
    );
    const calls = world.records().filter((record) => record.kind === 'delivery-started' && hanging.includes(record.id));
    const runs = calls.map((record) => `${record.process} ${'id' in record ? record.id : ''}`);
    const twice = runs.filter((run, i) => runs.indexOf(run) !== i);
    world.expect(twice.length === 0, 'called-again', `while it hung: ${twice.join(', ')}`);
  },
};

function tellsOfOvertime(problem: string): boolean {
  return problem.includes('although');
}

/** Three until it runs alone, and then one for each attempt. */
const DEATHS = 3 + ATTEMPTS;

export const killingMessage: Scenario = {
  name: 'killing-message',
  shows: 'a message kills every process that handles it: it dies alone, and all that ran beside it are handled',
  length: 'long',
  async run(world) {
    const killer = 'p3-50';
    const options = { attempts: ATTEMPTS, failures: 0, handlerTime: 300, diesOf: killer };
    for (let i = 0; i < 2; i++) await world.startConsumer(options);
    await world.startProducer({ rate: 100, cancellations: 0 });
    const deaths = await replaceTheDead(world, options);
    await expectDeadLetters(world, [killer], 'crashed', 10 * TIMING.lease);
    world.expect(deaths === DEATHS, 'deaths', `${deaths} processes died, ${DEATHS} have to`);
    await world.pause(300, 600);
  },
};

/** Longest time from one death to the next, in milliseconds: a lease, a session and two boots take a tenth of it. */
const NEXT_DEATH = 30_000;

/** Starts a process for each that dies, until there is a dead letter; answers how many died. */
async function replaceTheDead(world: World, options: Parameters<World['startConsumer']>[0]): Promise<number> {
  const admin = await world.admin();
  // One may die while another is being replaced.
  const alive = new Set(world.consumers);
  for (let deaths = 0; ; deaths++) {
    const ended = await until(
      'another death, or the end',
      async () => {
        const gone = [...alive].find((name) => !world.consumers.includes(name));
        return gone ?? ((await admin.stats(TOPIC)).dead > 0 ? 'none' : false);
      },
      NEXT_DEATH,
    );
    if (ended === 'none') return deaths;
    alive.delete(ended);
    await world.fault('died', ended, async () => {}, true);
    alive.add(await world.startConsumer(options));
  }
}

/**
 * Waits until exactly these messages are dead letters, for this reason.
 *
 * @param why the reason or the code of their failures
 * @param within milliseconds
 */
async function expectDeadLetters(world: World, ids: readonly string[], why: string, within: number): Promise<void> {
  const admin = await world.admin();
  await world.expectSoon('not-dead', `${ids.length} dead letters`, within, async () => {
    return (await admin.stats(TOPIC)).dead >= ids.length;
  });
  const { messages } = await admin.peek(TOPIC, 'dead', { limit: 100 });
  const found = messages.map(
    ({ id, failure }) => `${id} ${[failure?.reason, failure?.code].includes(why) ? why : failure?.reason}`,
  );
  const wanted = ids.map((id) => `${id} ${why}`);
  world.expect(
    found.toSorted().join() === wanted.toSorted().join(),
    'dead-letters',
    `${found.join(', ')}; these have to be dead: ${wanted.join(', ')}`,
  );
}
