import type { Cli, Queues } from './cli.js';
import { shown } from './text.js';

/**
 * Prints what became of a change to one message that waits.
 *
 * @param property the name that JSON has for it, such as `rescheduled`
 */
export async function printChange(
  cli: Cli,
  queues: Queues,
  { topic, id, property, changed }: { topic: string; id: string; property: string; changed: boolean },
): Promise<void> {
  const value = { topic, id, [property]: changed };
  if (changed) {
    cli.print(value, () => [`Message '${shown(id)}' is ${property}.`]);
    return;
  }
  await cli.assertKnown(queues, topic);
  cli.refuse(
    value,
    `Topic '${topic}' has no message '${shown(id)}' that waits: it is not there, in flight, or a dead letter. Nothing was changed.`,
  );
}
