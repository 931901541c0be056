import { Injectable } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { Gate, eventually } from '../../support/waiting.js';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

export function deployment(document: DrivenDocument): void {
  document.drive('Separate API and worker processes #1', onlyPublishing);
  document.drive('Graceful shutdown #1', shutdownHooks);
}

function onlyPublishing(run: Run): void {
  it('publishes, and leaves the messages to a worker, though it has handlers', async () => {
    @Injectable()
    class Jobs {
      readonly done: unknown[] = [];

      @DelayedHandler('jobs')
      work(payload: unknown): void {
        this.done.push(payload);
      }
    }
    const { app, harness, producer } = await bootApplication({ imports: await modulesMade(run), providers: [Jobs] });
    await producer.publish('jobs', 1);
    await harness.advance('1d');
    expect([app.get(Jobs).done, harness.scheduled('jobs').length]).toEqual([[], 1]);

    const worker = await bootApplication({ providers: [Jobs] }, harness);
    await harness.advance('1d');
    expect([app.get(Jobs).done, worker.app.get(Jobs).done]).toEqual([[], [1]]);
  });
}

function shutdownHooks(run: Run): void {
  it('lets a running handler finish when the process gets a SIGTERM, and ends then', async () => {
    const [begun, free] = [new Gate(), new Gate()];
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      async work(): Promise<void> {
        begun.open();
        await free.opened;
      }
    }
    const { app, harness, producer, events } = await bootApplication({ providers: [Jobs] });
    const steps: string[] = [];
    events.acked.subscribe(() => steps.push('acknowledged'));
    // Only the application hears of the signal, not the process that runs the tests.
    vi.spyOn(process, 'kill').mockImplementation((_pid, signal) => {
      steps.push(String(signal));
      return true;
    });
    const before = process.listeners('SIGTERM');
    await run({ app });
    const added = process.listeners('SIGTERM').filter((listener) => !before.includes(listener));
    expect(added).toHaveLength(1);

    await producer.publish('jobs', null);
    const settled = harness.settle();
    await begun.opened;
    for (const listener of added) listener('SIGTERM');
    free.open();
    await eventually(() => expect(steps).toEqual(['acknowledged', 'SIGTERM']));
    await settled;
  });
}
