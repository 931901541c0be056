import { Injectable } from '@nestjs/common';
import { asConfiguration, assertOptions } from '../../checks/validate.js';
import { DEFAULT_CONNECTION, RECURRING_HANDLER_METADATA } from '../decorators/delay-queue.constants.js';
import type { RecurringHandlerMetadata, RecurringHandlerOptions } from '../decorators/recurring-handler.decorator.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { topicName } from '../../messages/topic.js';
import type { DeclaredSchedule } from '../../schedules/declared-schedules.js';
import { DecoratedMethods } from './decorated-methods.js';

const OPTIONS: readonly (keyof RecurringHandlerOptions)[] = [
  'id',
  'payload',
  'options',
  'every',
  'cron',
  'timeZone',
  'startAt',
  'endAt',
  'catchUp',
  'overlap',
  'concurrency',
  'attempts',
  'backoff',
  'timeout',
  'lease',
  'connection',
  'onRefusal',
];

const MESSAGE_OPTIONS: readonly (keyof NonNullable<RecurringHandlerOptions['options']>)[] = [
  'key',
  'expireAfter',
  'headers',
  'tags',
];

/** Finds the schedules that are declared with `@RecurringHandler`. Their handlers are found as all others. */
@Injectable()
export class RecurringHandlerExplorer {
  constructor(private readonly methods: DecoratedMethods) {}

  /**
   * @returns the schedules of a connection
   * @throws ConfigurationError if two have the same id, or options are unknown
   */
  explore(connection: string): DeclaredSchedule[] {
    const declared = new Map<string, DeclaredSchedule>();
    for (const { where, metadata } of this.methods.find<RecurringHandlerMetadata>(RECURRING_HANDLER_METADATA)) {
      const { topic, options } = metadata;
      asConfiguration(where, () => {
        assertOptions('Its options', options, OPTIONS);
        if (options.options !== undefined) assertOptions('Its option options', options.options, MESSAGE_OPTIONS);
      });
      if ((options.connection ?? DEFAULT_CONNECTION) !== connection) continue;
      const { every, cron, timeZone, startAt, endAt, catchUp, overlap } = options;
      const rule = { every, cron, timeZone, startAt, endAt, catchUp, overlap };
      const { id = topicName(topic), payload = null, options: message } = options;
      const other = declared.get(id);
      if (other) {
        throw new ConfigurationError(
          `${where} declares the schedule '${id}', as ${other.where} does. Give one of them another id.`,
        );
      }
      declared.set(id, { where, schedule: { id, topic, payload, options: message, ...withoutUndefined(rule) } });
    }
    return [...declared.values()];
  }
}

function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: NonNullable<T[K]> };
}
