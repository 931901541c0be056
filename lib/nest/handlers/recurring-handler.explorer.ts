import { Injectable } from '@nestjs/common';
import { asConfiguration, assertOptions } from '../../checks/validate.js';
import { DEFAULT_CONNECTION, RECURRING_HANDLER_METADATA } from '../decorators/delay-queue.tokens.js';
import type { RecurringHandlerMetadata, RecurringHandlerOptions } from '../decorators/recurring-handler.decorator.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { MESSAGE_RULES } from '../../messages/message-options.js';
import { topicName } from '../../messages/topic.js';
import { SCHEDULE_RULES } from '../../schedules/check-schedule.js';
import type { DeclaredSchedule } from '../../schedules/declared-schedules.js';
import type { ScheduleRule } from '../../schedules/schedule.interface.js';
import { DecoratedMethods } from './decorated-methods.js';

/** Options that belong to the handler of a schedule. */
const HANDLER_OPTIONS: readonly string[] = [
  'concurrency',
  'attempts',
  'backoff',
  'timeout',
  'lease',
  'connection',
  'onRefusal',
] satisfies readonly (keyof RecurringHandlerOptions)[];
const RULE_OPTIONS = Object.keys(SCHEDULE_RULES) as (keyof ScheduleRule)[];
const OPTIONS = ['id', 'payload', 'options', ...RULE_OPTIONS, ...HANDLER_OPTIONS];
const MESSAGE_OPTIONS = Object.keys(MESSAGE_RULES).filter((option) => !HANDLER_OPTIONS.includes(option));

/** Finds the schedules that are declared with `@RecurringHandler`. Their handlers are found like all others. */
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
      const { id = topicName(topic), payload = null, options: message } = options;
      const other = declared.get(id);
      if (other) {
        throw new ConfigurationError(
          `${where} declares the schedule '${id}', as ${other.where} does. Give one of them another id.`,
        );
      }
      declared.set(id, { where, schedule: { id, topic, payload, options: message, ...ruleIn(options) } });
    }
    return [...declared.values()];
  }
}

function ruleIn(options: ScheduleRule): ScheduleRule {
  const given = RULE_OPTIONS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  return Object.fromEntries(given) as ScheduleRule;
}
