import { describe, expect, it } from 'vitest';
import { report } from '../support/readings/statistics.js';
import { until } from '../support/waiting.js';
import { LimitedFleet, PROCESSES, useLimitedFleet } from './limited-fleet.js';

/** For how long commands are counted: several heartbeats; milliseconds. */
const COUNTED = 12_000;

/** As many may begin or be in flight as this, and none after them. */
const MAX = 20;

describe('a fleet of four processes that waits for a limit', () => {
  const fleet = useLimitedFleet();

  it.each([
    { rateLimit: { max: MAX, per: 600_000 } },
    { rateLimit: { max: 1, per: 600_000, by: 'key' } },
    { maxInFlight: { topic: MAX } },
  ] as const)('sends at most 5 commands a second and process: %j', { timeout: 120_000 }, async (limits) => {
    const { world } = fleet();
    const hangsOn = 'maxInFlight' in limits ? LimitedFleet.ids : [];
    await fleet().start(limits, { handlerTime: 5, hangsOn }, { keys: MAX });
    await until(`${MAX} calls`, () => fleet().started().length >= MAX, 30_000);
    await world.pause(3000);
    const commands = async (): Promise<number> =>
      Number(/total_commands_processed:(\d+)/.exec(await world.client.info('stats'))?.[1]);
    const before = await commands();
    await world.pause(COUNTED);
    const rate = ((await commands()) - before) / (COUNTED / 1000) / PROCESSES;
    report(`waiting for ${JSON.stringify(limits)}: ${rate.toFixed(2)} commands a second and process`);

    expect(fleet().started()).toHaveLength(MAX);
    expect(rate).toBeLessThanOrEqual(5);
  });
});
