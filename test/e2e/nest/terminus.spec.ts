import { ServiceUnavailableException } from '@nestjs/common';
import { HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import {
  ConfigurationError,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  InvalidArgumentError,
} from 'nestjs-delay-queue';
import { DelayQueueHealthIndicator, type DelayQueueIndicatorOptions } from 'nestjs-delay-queue/terminus';
import { describe, expect, it, vi } from 'vitest';
import { brokerOf } from '../../support/internals.js';
import { type RunningApp, useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';

const bed = useBed();

/** A topic that nobody handles. */
const UNOWNED: DelayQueueModuleOptions = { consumer: false, topics: { orphans: { partitions: 2 } } };

async function startHandling(): Promise<RunningApp> {
  return bed.start({ imports: [TerminusModule], providers: [Jobs, DelayQueueHealthIndicator] });
}

/** Makes a check as a health controller does. */
async function check(app: RunningApp, options?: DelayQueueIndicatorOptions) {
  return app
    .get(HealthCheckService)
    .check([async () => app.get(DelayQueueHealthIndicator).isHealthy('queue', options)]);
}

/** The answer of a failing check. */
async function failureOf(checking: Promise<unknown>): Promise<unknown> {
  const error: unknown = await checking.then(
    () => expect.fail('it was healthy'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ServiceUnavailableException);
  return (error as ServiceUnavailableException).getResponse();
}

describe('DelayQueueHealthIndicator', () => {
  it('is up if the queue is up, with the report', async () => {
    expect(await check(await startHandling())).toMatchObject({
      status: 'ok',
      details: {
        queue: {
          status: 'up',
          problems: [],
          connection: { status: 'up', signals: 'up' },
          topics: [{ topic: 'jobs', unowned: [], stalled: false }],
        },
      },
    });
  });

  it('fails the check if the queue is down', async () => {
    const app = await startHandling();
    const { link } = brokerOf(app.nest);
    vi.spyOn(link, 'ping').mockImplementation(async () => new Promise(() => {}));

    expect(await failureOf(check(app, { timeout: 200 }))).toMatchObject({
      status: 'error',
      error: { queue: { status: 'down', problems: ['Redis cannot be reached: No answer within 200 ms'] } },
    });
  });

  it('does not fail the check if the queue is degraded, unless an option says so', async () => {
    const imports = [TerminusModule];
    const app = await bed.start({ imports, providers: [DelayQueueHealthIndicator], options: UNOWNED });
    // Terminus 11 does not have this status.
    const status = 'degraded' in app.get(HealthIndicatorService).check('any') ? 'degraded' : 'up';
    const problems = ["Topic 'orphans': no process owns partitions 0, 1"];

    expect(await check(app)).toMatchObject({ details: { queue: { status, problems } } });
    expect(await check(app, { failOnDegraded: false })).toMatchObject({ details: { queue: { status, problems } } });
    expect(await failureOf(check(app, { failOnDegraded: true }))).toMatchObject({
      error: { queue: { status: 'down', problems } },
    });
  });

  it('checks the named connection', async () => {
    const app = await bed.compileWith({
      imports: [
        TerminusModule,
        DelayQueueModule.forRoot(bed.options()),
        DelayQueueModule.forRoot(bed.options({ name: 'billing', topics: { invoices: { partitions: 1 } } })),
      ],
      providers: [DelayQueueHealthIndicator],
    });
    await app.nest.init();

    expect(await check(app)).toMatchObject({ details: { queue: { topics: [] } } });
    expect(await check(app, { connection: 'billing' })).toMatchObject({
      details: { queue: { topics: [{ topic: 'invoices' }] } },
    });
    await expect(app.get(DelayQueueHealthIndicator).isHealthy('queue', { connection: 'audit' })).rejects.toThrow(
      new ConfigurationError("There is no DelayQueueModule of connection 'audit'."),
    );
  });

  it('refuses wrong options', async () => {
    const indicator = (await startHandling()).get(DelayQueueHealthIndicator);
    const wrong = [{ timeout: -1 }, { name: 'billing' }, 'billing'] as unknown as DelayQueueIndicatorOptions[];
    for (const options of wrong) {
      await expect(indicator.isHealthy('queue', options)).rejects.toThrow(InvalidArgumentError);
    }
  });

  it('fails the boot if TerminusModule is not imported, and says so', async () => {
    const error = await bed.failingBoot({ providers: [DelayQueueHealthIndicator] });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toBe('DelayQueueHealthIndicator needs TerminusModule of @nestjs/terminus: import it.');
  });
});
