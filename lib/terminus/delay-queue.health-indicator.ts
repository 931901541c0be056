import { Injectable, type InjectionToken } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { assertOptions } from '../checks/validate.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { HealthCheckOptions } from '../admin/index.js';
import type { DelayQueueHealth } from '../index.js';

const OPTIONS = ['connection', 'timeout', 'failOnDegraded'] as const;

/**
 * Options of `DelayQueueHealthIndicator.isHealthy()`.
 *
 * @publicApi
 */
export interface DelayQueueIndicatorOptions extends HealthCheckOptions {
  /** Name of the connection. @defaultValue 'default' */
  connection?: string;
  /** Whether `degraded` fails the check, as `down` does. @defaultValue false */
  failOnDegraded?: boolean;
}

/**
 * Delay queues as an indicator of `@nestjs/terminus`, 11 or 12. Provide it in the module of your health controller, which
 * imports `TerminusModule`.
 *
 * @example
 * ```ts
 * @Get('ready')
 * @HealthCheck()
 * ready() {
 *   return this.checks.check([() => this.queue.isHealthy('delay-queue')]);
 * }
 * ```
 *
 * @publicApi
 */
@Injectable()
export class DelayQueueHealthIndicator {
  readonly #modules: ModuleRef;

  /** @throws ConfigurationError if `TerminusModule` is not imported */
  constructor(modules: ModuleRef) {
    this.#modules = modules;
    // Not later: by then connections are open, which nobody would close.
    this.#find(
      HealthIndicatorService,
      'DelayQueueHealthIndicator needs TerminusModule of @nestjs/terminus: import it.',
    );
  }

  /**
   * Looks now. `down` fails the check. A queue that is degraded does not: terminus 12 calls it `degraded`, terminus 11, which
   * knows no such status, `up`. The result has the report of `DelayQueueHealth.check()`.
   *
   * @param key names the queue in terminus' result
   * @throws InvalidArgumentError, ConfigurationError if there is no such connection
   */
  async isHealthy<const Key extends string>(
    key: Key,
    options: DelayQueueIndicatorOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    assertOptions('The options of isHealthy', options, OPTIONS);
    const { connection = DEFAULT_CONNECTION, failOnDegraded = false, ...checkOptions } = options;
    const health = this.#find<DelayQueueHealth>(
      tokensOf(connection).health,
      `There is no DelayQueueModule of connection '${connection}'.`,
    );
    const { status, ...report } = await health.check(checkOptions);
    const session = this.#modules.get(HealthIndicatorService, { strict: false }).check(key);
    if (status === 'down' || (status === 'degraded' && failOnDegraded)) return session.down(report);
    return status === 'degraded' && 'degraded' in session ? session.degraded(report) : session.up(report);
  }

  #find<T>(token: InjectionToken<T>, otherwise: string): T {
    try {
      return this.#modules.get<T>(token, { strict: false });
    } catch (error) {
      throw new ConfigurationError(otherwise, { cause: error });
    }
  }
}
