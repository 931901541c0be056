import type { DeadLetter } from '../messages/dead-letter.interface.js';

/** What is told of a topic's dead letters: the runtime's view of a decorated method. */
export interface DeadLetterHook {
  /** For logs and errors, such as `OrderService.onDeadLetter`. */
  readonly name: string;
  readonly topic: string;
  call(letter: DeadLetter): unknown;
}
