import type { ClearCounts } from '../admin/index.js';
import type { DelayQueueAdmin } from '../index.js';
import { type BulkCall, runBulk } from './bulk.js';
import type { Cli } from './cli.js';
import { TOPIC } from './command.js';
import { type Program, example } from './program.js';

export interface ClearCommand {
  readonly name: string;
  /** What one of the messages is, such as `dead letter`. */
  readonly singular: string;
  readonly summary: string;
  readonly description: string;
  readonly clear: (admin: DelayQueueAdmin, topic: string, call: BulkCall) => Promise<ClearCounts>;
}

/** Adds a command that removes all messages of one state. */
export function clearTopic(
  program: Program,
  cli: Cli,
  { name, singular, summary, description, clear }: ClearCommand,
): void {
  program
    .command(name)
    .summary(summary)
    .description(description)
    .argument(...TOPIC)
    .option('--dry-run', 'count them, and change nothing')
    .addHelpText('after', example(`${name} order.timeout --dry-run`, `${name} order.timeout --yes`))
    .action(async (topic, { dryRun = false }) =>
      cli.open(async (queues) => {
        await runBulk(cli, queues, {
          topic,
          singular,
          done: 'removed',
          dryRun,
          destroys: 'removes',
          call: (call) => clear(queues.admin, topic, call),
        });
      }),
    );
}
