import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../../../lib/composition/resolve-options.js';
import { ConsumerRuntime } from '../../../../lib/consumer/consumer.runtime.js';
import { Intakes } from '../../../../lib/consumer/ownership/intakes.js';
import { type ConsumingOptions, resolveHandler } from '../../../../lib/nest/handlers/resolve-handler.js';
import { FleetBed, failing } from '../../../support/units/fleet-bed.js';
import { testRegistry } from '../../../support/units/handling.js';
import {
  AT_ONCE,
  OVERTAKEN,
  PARTITIONS,
  fleet,
  memberOf,
  outcomeOf,
  ownersOf,
  publish,
} from '../../../support/units/intake-bed.js';
import { turns } from '../../../support/units/test-claimant.js';
import { Gate } from '../../../support/waiting.js';

describe('an intake that is not to start by itself', () => {
  it('takes nothing before it is started, though its process has booted', async () => {
    const bed = new FleetBed();
    const a = memberOf(bed, 'a', false);
    await a.runtime.start();
    await publish(bed, 'jobs');
    expect([a.intakes.running, a.handled, await ownersOf(bed, 'jobs')]).toEqual([[], [], new Set([undefined])]);
    expect(a.lines.at(-1)).toBe('The intake of 2 topics: jobs, mails waits for DelayQueueConsumers.start()');
    await a.intakes.change('start', 'jobs');
    await turns(AT_ONCE);

    expect([a.intakes.running, a.handled.length]).toEqual([['jobs'], PARTITIONS]);
    expect(await ownersOf(bed, 'mails')).toEqual(new Set([undefined]));
    await a.runtime.stop();
  });

  it('takes no share from those that run', async () => {
    const bed = new FleetBed();
    const [a, b] = [memberOf(bed, 'a', false), memberOf(bed, 'b')];
    for (const { runtime } of [a, b]) await runtime.start();
    await turns(AT_ONCE);

    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['b']));
    await Promise.all([a, b].map(async ({ runtime }) => runtime.stop()));
  });
});

describe('what is wanted before the handlers are known', () => {
  it('is noted, and holds from the beginning', async () => {
    const bed = new FleetBed();
    const process = bed.process('a');
    const options = resolveOptions({ defaults: { partitions: PARTITIONS } }) as ConsumingOptions;
    const intakes = new Intakes(true);
    await intakes.change('stop', 'jobs');
    await intakes.change('stop', undefined);
    await intakes.change('start', 'mails');
    expect(intakes.running).toEqual([]);
    const handler = resolveHandler('Jobs.work', ['jobs', 'mails'], {}, options);
    const runtime = new ConsumerRuntime({
      context: process.context,
      topics: testRegistry(process.context, { settingsOf: options.topicSettings }),
      settings: options.consumer,
      handlers: [{ ...handler, handle: () => {} }],
      intakes,
      hooks: [],
      timeout: 5000,
      onDataLost: () => {},
    });
    expect(intakes.running).toEqual(['mails']);
    await runtime.start();

    expect([await ownersOf(bed, 'jobs'), await ownersOf(bed, 'mails')]).toEqual([new Set([undefined]), new Set(['a'])]);
    await runtime.stop();
  });

  it('fails the boot if it is wanted of a topic that has no handler', async () => {
    const bed = new FleetBed();
    const { context } = bed.process('a');
    const options = resolveOptions({}) as ConsumingOptions;
    const intakes = new Intakes(true);
    await intakes.change('stop', 'job');
    const handler = resolveHandler('Jobs.work', ['jobs'], {}, options);
    const topics = testRegistry(context);
    const handlers = [{ ...handler, handle: () => {} }];

    expect(
      () =>
        new ConsumerRuntime({
          context,
          topics,
          settings: options.consumer,
          handlers,
          intakes,
          hooks: [],
          timeout: 5000,
          onDataLost: () => {},
        }),
    ).toThrow(
      "DelayQueueConsumers: The intake of topic 'job' cannot be stopped: it has no handler in this process on this " +
        "connection. Did you mean 'jobs'? Topics that have one: jobs.",
    );
  });
});

describe('a topic without a handler', () => {
  it('is refused, with those that have one', async () => {
    const { a, close } = await fleet();

    expect(() => a.intakes.change('start', 'orders')).toThrow(
      "The intake of topic 'orders' cannot be started: it has no handler in this process on this connection. Topics that " +
        'have one: jobs, mails.',
    );
    await close();
  });
});

describe('at a shutdown', () => {
  it('a start that has not come true is overtaken, and a later one too', async () => {
    const { a, b } = await fleet();
    await a.intakes.change('stop', undefined);
    const gate = new Gate();
    a.process.around = async ({ operation, run }) => {
      if (operation === 'heartbeat') await gate.opened;
      return run();
    };
    const started = outcomeOf(a.intakes.change('start', 'jobs'));
    const closing = a.runtime.stop();
    const later = outcomeOf(a.intakes.change('start', 'jobs'));
    gate.open();
    await closing;

    expect([started(), later()]).toEqual(Array(2).fill(OVERTAKEN('start', 'the shutdown of this process')));
    expect(a.intakes.running).toEqual([]);
    await b.runtime.stop();
  });

  it('a stop has come true when nothing runs any more', async () => {
    const { bed, a, b } = await fleet();
    const gate = new Gate();
    a.respond = async () => gate.opened;
    await publish(bed, 'jobs');
    const stops = [outcomeOf(a.intakes.change('stop', 'jobs'))];
    const closing = a.runtime.stop();
    stops.push(outcomeOf(a.intakes.change('stop', 'mails')), outcomeOf(a.intakes.change('stop', undefined)));
    await turns(AT_ONCE);
    expect(stops.map((outcome) => outcome())).toEqual(Array(3).fill('waits'));
    gate.open();
    await closing;
    await turns(AT_ONCE);

    expect(stops.map((outcome) => outcome())).toEqual(Array(3).fill('done'));
    await expect(a.intakes.change('stop', 'jobs')).resolves.toBeUndefined();
    await b.runtime.stop();
  });

  it('loses nothing that is being started', async () => {
    const { bed, a, b } = await fleet();
    await a.intakes.change('stop', 'jobs');
    await publish(bed, 'jobs');
    a.intakes.change('start', 'jobs').catch(() => {});
    await a.runtime.stop();
    await turns(AT_ONCE);

    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['b']));
    expect(new Set([...a.handled, ...b.handled].map(({ id }) => id)).size).toBe(PARTITIONS);
    await b.runtime.stop();
  });
});

it('tells them of a start later if the broker does not serve now', async () => {
  const { bed, a, close } = await fleet();
  await a.intakes.change('stop', 'jobs');
  await turns(AT_ONCE);
  a.process.around = failing('heartbeat');
  await a.intakes.change('start', 'jobs');
  expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['b']));
  a.process.around = async ({ run }) => run();
  await bed.clock.advance(1000);

  expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['a', 'b']));
  await close();
});
