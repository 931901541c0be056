import { describe, expect, it } from 'vitest';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { FleetBed } from '../../../support/units/fleet-bed.js';
import {
  AT_ONCE,
  OVERTAKEN,
  PARTITIONS,
  SHUTDOWN_TIMEOUT,
  fleet,
  memberOf,
  outcomeOf,
  ownersOf,
  publish,
} from '../../../support/units/intake-bed.js';
import { turns } from '../../../support/units/test-claimant.js';
import { Gate } from '../../../support/waiting.js';

describe('the intake of a topic that is stopped', () => {
  it('goes to the other processes at once, and that of the other topics stays', async () => {
    const { bed, a, b, close } = await fleet();
    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['a', 'b']));
    await a.intakes.change('stop', 'jobs');
    await turns(AT_ONCE);

    expect(a.intakes.running).toEqual(['mails']);
    expect([await ownersOf(bed, 'jobs'), await ownersOf(bed, 'mails')]).toEqual([new Set(['b']), new Set(['a', 'b'])]);
    await publish(bed, 'jobs');
    expect([a.handled.length, b.handled.length]).toEqual([0, PARTITIONS]);
    expect(a.runtime.progress.topics).toMatchObject([
      { topic: 'jobs', stopped: true, owned: [] },
      { topic: 'mails', stopped: false },
    ]);
    await close();
  });

  it('does not come back by itself, whoever comes and goes', async () => {
    const { bed, a, b } = await fleet();
    await a.intakes.change('stop', 'jobs');
    await b.runtime.stop();
    await bed.clock.advance(60_000);

    expect([await ownersOf(bed, 'jobs'), await ownersOf(bed, 'mails')]).toEqual([new Set([undefined]), new Set(['a'])]);
    await publish(bed, 'jobs');
    expect(a.handled).toEqual([]);
    await a.runtime.stop();
  });

  it('comes back when it is started', async () => {
    const { bed, a, close } = await fleet();
    await a.intakes.change('stop', undefined);
    await turns(AT_ONCE);
    expect([a.intakes.running, await ownersOf(bed, 'jobs')]).toEqual([[], new Set(['b'])]);
    await a.intakes.change('start', undefined);
    await turns(AT_ONCE);

    expect(a.intakes.running).toEqual(['jobs', 'mails']);
    for (const topic of ['jobs', 'mails']) expect(await ownersOf(bed, topic)).toEqual(new Set(['a', 'b']));
    expect(a.lines).toEqual(
      expect.arrayContaining([
        'Stops the intake of 2 topics: jobs, mails',
        'Starts the intake of 2 topics: jobs, mails',
      ]),
    );
    await close();
  });

  it('has stopped once the handlers have ended that run', async () => {
    const bed = new FleetBed();
    const a = memberOf(bed, 'a');
    await a.runtime.start();
    const gate = new Gate();
    a.respond = async () => gate.opened;
    await publish(bed, 'jobs', 2);
    await publish(bed, 'mails', 1);
    const stopping = a.intakes.change('stop', 'jobs');
    const outcome = outcomeOf(stopping);
    await publish(bed, 'jobs', PARTITIONS);
    expect([outcome(), a.handled.length]).toEqual(['waits', 3]);
    gate.open();
    await stopping;

    expect((await bed.broker.messages.stats({ topic: 'jobs', index: 0 })).counters.acked).toBe(1);
    expect(a.lines.filter((line) => line.startsWith('warn'))).toEqual([]);
    await a.runtime.stop();
  });

  it('gives back the messages of those that have not when the timeout is over, and no others', async () => {
    const { bed, a, b, close } = await fleet();
    await b.intakes.change('stop', undefined);
    await turns(AT_ONCE);
    a.respond = async () => new Promise(() => {});
    await publish(bed, 'jobs', 1);
    await publish(bed, 'mails', 1);
    const stopped = outcomeOf(a.intakes.change('stop', 'jobs'));
    await bed.clock.advance(SHUTDOWN_TIMEOUT - 1);
    expect([stopped(), a.handled[0]?.signal.aborted]).toEqual(['waits', false]);
    await bed.clock.advance(1);
    await turns(AT_ONCE);

    expect(stopped()).toBe('done');
    expect(a.handled.map(({ id, signal }) => [id, (signal.reason as { code?: string } | undefined)?.code])).toEqual([
      ['jobs-0', 'SHUTDOWN'],
      ['mails-0', undefined],
    ]);
    expect(a.lines).toContain(
      "warn 1 handler still runs after 10000 ms; its message is given back: 'jobs-0' of topic 'jobs' in Handlers.jobs. If it " +
        'awaits stop(), it waits for itself: call stop() there without await',
    );
    await b.intakes.change('start', 'jobs');
    await turns(AT_ONCE);
    expect(b.handled).toMatchObject([{ id: 'jobs-0', attempt: 1 }]);
    const closing = close();
    await bed.clock.advance(SHUTDOWN_TIMEOUT);
    await closing;
  });

  it('claims nothing more though the broker does not serve, and goes to the others once it does', async () => {
    const { bed, a, b, close } = await fleet();
    a.process.around = async () => Promise.reject(new BrokerUnavailableError('gone'));
    const stopped = outcomeOf(a.intakes.change('stop', 'jobs'));
    await turns(AT_ONCE);
    expect(stopped()).toBe('done');
    expect(a.intakes.running).toEqual(['mails']);
    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['a', 'b']));
    a.process.around = async ({ run }) => run();
    await bed.clock.advance(1000);
    await turns(AT_ONCE);

    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['b']));
    await publish(bed, 'jobs');
    expect([a.handled.length, b.handled.length]).toEqual([0, PARTITIONS]);
    await close();
  });
});

describe('calls that meet', () => {
  it('are one if they want the same', async () => {
    const { bed, a, close } = await fleet();
    const gate = new Gate();
    a.respond = async () => gate.opened;
    await publish(bed, 'jobs');
    const stops = [1, 2].map(() => outcomeOf(a.intakes.change('stop', 'jobs')));
    await turns(AT_ONCE);
    expect(stops.map((outcome) => outcome())).toEqual(['waits', 'waits']);
    gate.open();
    await turns(AT_ONCE);

    expect(stops.map((outcome) => outcome())).toEqual(['done', 'done']);
    expect(a.lines.filter((line) => line.startsWith('Stops'))).toEqual(["Stops the intake of topic 'jobs'"]);
    await expect(a.intakes.change('stop', 'jobs')).resolves.toBeUndefined();
    await close();
  });

  it('leave what the latest wants: a start overtakes a stop, whose handlers go on', async () => {
    const { bed, a, close } = await fleet();
    const gate = new Gate();
    a.respond = async () => gate.opened;
    await publish(bed, 'jobs');
    const [running] = a.handled;
    const stopped = outcomeOf(a.intakes.change('stop', 'jobs'));
    await bed.clock.advance(SHUTDOWN_TIMEOUT / 2);
    await a.intakes.change('start', 'jobs');
    expect(stopped()).toBe(OVERTAKEN('stop', 'a later start()'));
    await bed.clock.advance(2 * SHUTDOWN_TIMEOUT);

    expect(running?.signal.aborted).toBe(false);
    expect(await ownersOf(bed, 'jobs')).toEqual(new Set(['a', 'b']));
    gate.open();
    await close();
  });

  it('leave what the latest wants: a stop overtakes a start', async () => {
    const { bed, a, close } = await fleet();
    await a.intakes.change('stop', 'jobs');
    const gate = new Gate();
    a.process.around = async ({ operation, run }) => {
      if (operation === 'heartbeat') await gate.opened;
      return run();
    };
    const started = outcomeOf(a.intakes.change('start', 'jobs'));
    const stopped = outcomeOf(a.intakes.change('stop', 'jobs'));
    gate.open();
    await turns(AT_ONCE);

    expect([started(), stopped()]).toEqual([OVERTAKEN('start', 'a later stop()'), 'done']);
    expect([a.intakes.running, await ownersOf(bed, 'jobs')]).toEqual([['mails'], new Set(['b'])]);
    await close();
  });

  it('leave the latest of many, however they come', async () => {
    const { bed, a, close } = await fleet();
    for (let i = 0; i < 20; i++) {
      for (let n = 0; n <= i; n++) a.intakes.change(n % 2 === 0 ? 'stop' : 'start', 'jobs').catch(() => {});
      await turns(i);
    }
    await bed.clock.advance(1000);
    await turns(AT_ONCE);

    // The last one of the last row wanted it to run.
    expect([a.intakes.running, await ownersOf(bed, 'jobs')]).toEqual([['jobs', 'mails'], new Set(['a', 'b'])]);
    await publish(bed, 'jobs');
    await close();
  });
});
