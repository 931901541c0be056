import type { EditResult } from '../admin/index.js';
import type { RescheduleResult } from '../index.js';
import type { Cli, Queues } from './cli.js';
import { shown } from './text.js';

const UNCHANGED = {
  'in-flight': 'is in flight',
  dead: "is a dead letter: 'requeue' schedules it again",
} as const;

/**
 * Prints what became of a change to one message that waits.
 *
 * @param done what the message is now, such as `due`
 */
export async function printChange(
  cli: Cli,
  queues: Queues,
  { topic, id, done, result }: { topic: string; id: string; done: string; result: RescheduleResult | EditResult },
): Promise<void> {
  const value = { topic, id, result };
  if (result === 'moved' || result === 'edited') {
    cli.print(value, () => [`Message '${shown(id)}' is ${done}.`]);
    return;
  }
  if (result === 'not-found') {
    await cli.assertKnown(queues, topic);
    cli.refuse(value, `Topic '${topic}' has no message '${shown(id)}'.`);
    return;
  }
  cli.refuse(value, `Message '${shown(id)}' ${UNCHANGED[result]}. Nothing was changed.`);
}
