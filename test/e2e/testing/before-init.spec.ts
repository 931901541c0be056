import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { ConfigurationError, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

useKitBed();

const MOVES: readonly [string, (harness: DelayQueueHarness) => Promise<void>][] = [
  ['advance()', (harness) => harness.advance('1d')],
  ['advanceTo()', (harness) => harness.advanceTo(new Date(harness.now.getTime() + 1))],
  ['settle()', (harness) => harness.settle()],
];

const INIT =
  "Before you move time, call 'await module.init()', or 'await app.init()' for one that createNestApplication() made.";

function onModule(): TestingModuleBuilder {
  return Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()], providers: [Jobs] });
}

describe.each(MOVES)('%s tells what is missing', (_, move) => {
  it('if the module was compiled, and not initialized', async () => {
    const module = await onModule().compile();
    const harness = module.get(DelayQueueHarness);
    await module.get(DelayQueueProducer).publish('jobs', 1);

    await expect(move(harness)).rejects.toThrow(ConfigurationError);
    await expect(move(harness)).rejects.toThrow(INIT);
    expect(harness.published('jobs')).toHaveLength(1);

    await module.init();
    await move(harness);
    expect(module.get(Jobs).calls).toHaveLength(1);
    await module.close();
  });

  it('if init() was not awaited', async () => {
    const module = await onModule().compile();
    const initializing = module.init();
    await expect(move(module.get(DelayQueueHarness))).rejects.toThrow(INIT);
    await initializing;
    await module.close();
  });

  it('if the application was made, and not initialized', async () => {
    const harness = new DelayQueueHarness();
    const builder = Test.createTestingModule({ imports: [DelayQueueModule.forRoot()], providers: [Jobs] });
    const app = (await harness.override(builder).compile()).createNestApplication({ logger: false });
    await expect(move(harness)).rejects.toThrow(INIT);

    await app.init();
    await app.get(DelayQueueProducer).publish('jobs', 1);
    await move(harness);
    expect(app.get(Jobs).calls).toHaveLength(1);
    await app.close();
  });

  it('if no application is on the harness', async () => {
    await expect(move(new DelayQueueHarness())).rejects.toThrow('Import DelayQueueTestingModule, or call override()');
  });
});
