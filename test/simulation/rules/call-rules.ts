import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { TOPICS, isAtMostOnce } from '../fleet/topics.js';
import type { Process } from '../fleet/process.js';
import type { Payload } from '../work/payload.js';
import { type RuleOptions, TIMER_ERROR } from './run.js';

export interface CalledHandler {
  readonly name: string;
  readonly batch: number | undefined;
  readonly concurrency: number;
}

interface Call {
  readonly handler: string;
  readonly messages: readonly DelayedMessage[];
}

/** A process calls a handler with what belongs together, no more often at once than may be, and never with a message that it still has. */
export class CallRules {
  /** When a handler was last called as often at once as may be. World time. */
  fullAt = -Infinity;
  readonly #options: RuleOptions;
  readonly #calls = new Map<Process, Set<Call>>();

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  /** @returns to be called once the handler has ended */
  begin(process: Process, handler: CalledHandler, messages: readonly DelayedMessage[]): () => void {
    const all = this.#calls.get(process) ?? new Set();
    this.#calls.set(process, all);
    this.#assertNew(process, messages, all);
    this.#assertBatch(process, handler, messages);
    const call = { handler: handler.name, messages };
    all.add(call);
    this.#assertRoom(process, handler, all);
    return () => {
      if (all.size >= handler.concurrency) this.#noteFull(handler, all);
      all.delete(call);
    };
  }

  #assertNew(process: Process, messages: readonly DelayedMessage[], all: Iterable<Call>): void {
    for (const call of all) {
      // The id of what is gone when it is handed out may be that of another one.
      const kept = messages.filter(({ topic }) => !isAtMostOnce(topic));
      const again = kept.find(({ id, topic }) => call.messages.some((one) => one.id === id && one.topic === topic));
      if (again)
        this.#violated('twice', `${process.name} is called with ${again.id} that it still has`, process, again);
    }
  }

  #assertBatch(process: Process, { name, batch = 1 }: CalledHandler, messages: readonly DelayedMessage[]): void {
    const [first] = messages;
    if (!first) return;
    const isMixed = messages.some(({ topic, partition }) => topic !== first.topic || partition !== first.partition);
    const keys = new Set(messages.map(({ key }) => key));
    const hasOneTwice = TOPICS[first.topic]?.ordered && keys.size < messages.length;
    if (messages.length <= batch && !isMixed && !hasOneTwice) return;
    const ids = messages.map(({ payload }) => (payload as Payload).id).join(', ');
    this.#violated('batch', `${name} is called with ${ids}`, process, first);
  }

  #assertRoom(process: Process, { name, concurrency }: CalledHandler, all: ReadonlySet<Call>): void {
    this.#noteFull({ name, concurrency }, all);
    if (countOf(all, name) <= concurrency) return;
    const [first] = [...all].at(-1)?.messages ?? [];
    // Timers are a little late, and so may a signal be.
    this.#options.world.after(TIMER_ERROR, () => {
      const count = countOf(all, name);
      if (first && count > concurrency && !process.isDead) {
        this.#violated('slots', `${count} calls of ${name} run in ${process.name}`, process, first);
      }
    });
  }

  #noteFull({ name, concurrency }: Pick<CalledHandler, 'name' | 'concurrency'>, all: Iterable<Call>): void {
    if (countOf(all, name) >= concurrency) this.fullAt = this.#options.world.now;
  }

  #violated(rule: string, text: string, process: Process, { payload }: DelayedMessage): void {
    this.#options.violated(rule, text, [(payload as Payload).id, process.name]);
  }
}

/** What was given up takes no slot. */
function countOf(calls: Iterable<Call>, name: string): number {
  let count = 0;
  for (const { handler, messages } of calls) {
    if (handler === name && messages.some(({ signal }) => !signal.aborted)) count++;
  }
  return count;
}
