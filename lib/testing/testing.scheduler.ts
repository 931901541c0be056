import { DelayQueueScheduler, type SchedulerDependencies } from '../module/delay-queue.scheduler.js';
import type { VirtualTime } from './virtual-time.js';

/** Lets time run while the application drains: a handler that hangs is given up by a timer, and nobody would let it fire. */
export class TestingScheduler extends DelayQueueScheduler {
  readonly #time: VirtualTime;

  constructor(dependencies: SchedulerDependencies, time: VirtualTime) {
    super(dependencies);
    this.#time = time;
  }

  protected override get expectsSignals(): boolean {
    return false;
  }

  override async onApplicationBootstrap(): Promise<void> {
    await super.onApplicationBootstrap();
    this.#time.activity.booted();
  }

  override async onModuleDestroy(): Promise<void> {
    await this.#time.runDuring(super.onModuleDestroy());
  }
}
