import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * This process publishes to a topic that no process of the fleet handles. Its messages are kept, and wait until one does.
 *
 * @publicApi
 */
export class UnhandledTopicError extends DelayQueueError {
  static {
    defineKind(this, 'UNHANDLED_TOPIC');
  }

  readonly code = 'UNHANDLED_TOPIC';

  constructor(
    readonly topic: string,
    /** The topic that was probably meant: one with nearly the same name, which a process handles. */
    readonly suggestion: string | undefined,
    /** @param hint what this process knows of the cause, a sentence */
    hint: string | undefined,
  ) {
    const meant = suggestion === undefined ? 'See' : `Did you mean '${suggestion}'? If not, see`;
    const remedy =
      `${meant} that a method has @DelayedHandler('${topic}'), that its class is a provider or controller of a module that ` +
      `is imported, and that its process runs, on the same Redis with the same prefix.`;
    super(
      `No process handles topic '${topic}', to which this process publishes: its messages wait until one does. ` +
        (hint ?? remedy),
    );
  }
}
