import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ConsumerRuntime } from '../../../../lib/consumer/consumer.runtime.js';
import { Intakes } from '../../../../lib/consumer/ownership/intakes.js';
import type { ConsumingOptions } from '../../../../lib/nest/handlers/resolve-handler.js';
import { resolveOptions } from '../../../../lib/composition/resolve-options.js';
import { FleetBed } from '../../../support/units/fleet-bed.js';
import { testRegistry } from '../../../support/units/handling.js';

const MINUTE = 60_000;

// The time between two heartbeats is drawn; here it is always the same, so that two processes can be compared.
beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterAll(() => void vi.restoreAllMocks());

/** What a process asks of Redis within a minute in which so many wait for messages and none come, with its defaults. */
async function callsWhile(waiting: number): Promise<string[]> {
  const bed = new FleetBed();
  const process = bed.process('a');
  const options = resolveOptions({}) as ConsumingOptions;
  const runtime = new ConsumerRuntime({
    context: process.context,
    topics: testRegistry(process.context),
    settings: options.consumer,
    handlers: [],
    intakes: new Intakes(true),
    hooks: [],
    timeout: 5000,
    onDataLost: () => {},
  });
  await runtime.start();
  const { signal } = new AbortController();
  const request = { max: 10, wait: 5 * MINUTE, lease: 30_000, signal, consumer: 'a' };
  const calls = Array.from({ length: waiting }, async () => runtime.pulling.receive('images', request));
  await bed.clock.advance(MINUTE);
  process.calls.length = 0;
  await bed.clock.advance(MINUTE);
  const made = [...process.operations];
  await runtime.stop();
  await runtime.close();
  expect((await Promise.all(calls)).flat()).toEqual([]);
  return made;
}

it('a thousand who wait cost what one does, less than a call a second', async () => {
  const one = await callsWhile(1);

  expect(one).toContain('heartbeat');
  expect(one.length).toBeLessThan(60);
  expect(await callsWhile(1000)).toEqual(one);
});
