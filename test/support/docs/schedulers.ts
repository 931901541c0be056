import { Module, type Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { TestingModule } from '@nestjs/testing';
import { DelayQueueModule, DelayQueueSchedules, type ScheduleRule } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { onTestFinished, vi } from 'vitest';
import type { LogBook } from '../app/log-book.js';
import { START, boot } from '../kit/kit-bed.js';

/**
 * Processes on one clock, that of the harness, which the timers of `@nestjs/schedule` follow. One that only publishes is always
 * there: the harness moves for an application that is on it.
 */
export class World {
  static async begin(now = START): Promise<World> {
    vi.useFakeTimers({ now, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const harness = new DelayQueueHarness({ now, onTick: moveTimers });
    const { module } = await boot({ imports: [DelayQueueModule.forRoot({ consumer: false })] }, harness);
    return new World(harness, module.get(DelayQueueSchedules));
  }

  readonly #lines: string[] = [];
  readonly #logs: LogBook[] = [];

  private constructor(
    readonly harness: DelayQueueHarness,
    readonly schedules: DelayQueueSchedules,
  ) {
    const log = vi.spyOn(console, 'log').mockImplementation((line) => {
      this.#lines.push(`${new Date().toISOString()} ${line}`);
    });
    onTestFinished(() => log.mockRestore());
  }

  async boot(AppModule: Type): Promise<TestingModule> {
    const { module, logs } = await boot({ imports: [AppModule] }, this.harness);
    this.#logs.push(logs);
    return module;
  }

  /** Moves time to so many milliseconds after the beginning. */
  async reach(elapsed: number): Promise<void> {
    await this.harness.advanceTo(START.getTime() + elapsed);
  }

  /** The next five times of a schedule with a rule. */
  async next(rule: ScheduleRule): Promise<Date[]> {
    await this.schedules.upsert({ id: 'any', topic: 'any', payload: null, ...rule });
    return this.schedules.next('any', 5);
  }

  get logged(): string[] {
    return this.#logs.flatMap(({ lines }) => lines);
  }

  /** What was printed, with the time. */
  printed(text = ''): string[] {
    return this.#lines.filter((line) => line.includes(text));
  }

  /** When a line was printed. */
  times(text: string): string[] {
    return this.printed(text).map((line) => line.slice(0, 24));
  }
}

function moveTimers(time: Date): void {
  vi.advanceTimersByTime(time.getTime() - Date.now());
}

/** An application with both schedulers. */
export function moduleWith(...providers: Type[]): Type {
  @Module({ imports: [ScheduleModule.forRoot(), DelayQueueModule.forRoot()], providers })
  class AppModule {}
  return AppModule;
}
