import type { DeadLetter } from '../../../lib/messages/delayed-message.interface.js';
import type { FailureReason } from '../../../lib/messages/failure.js';
import { fromStoredId } from '../../../lib/messages/stored-id.js';
import { OPERATED, TOPICS } from '../fleet/topics.js';
import type { AttemptRules } from './attempt-rules.js';
import type { MessageRules, Published } from './message-rules.js';
import type { RuleOptions, Run } from './run.js';
import type { Claim, ServerCall, ServerListener, Settle } from './server-calls.js';

/** By how much an estimate of the clock of Redis may be wrong, in milliseconds. */
const CLOCK_ERROR = 1000;

const DYING = new Set(['d', 'u', 'x']);

interface Death {
  readonly topic: string;
  /** World time. */
  readonly at: number;
}

export interface DeathRuleOptions extends RuleOptions {
  readonly messages: MessageRules;
  readonly attempts: AttemptRules;
}

/** What becomes a dead letter does so for its reason, at its time, and is never handled again; and nothing else does. */
export class DeathRules implements ServerListener {
  readonly #options: DeathRuleOptions;
  /** The dead letters, by id. */
  readonly #dead = new Map<string, Death>();
  /** How often those have died that a hook may be told of. */
  readonly #untold = new Map<string, number>();
  /** World time until which clocks may be far apart. */
  #steppedUntil = -Infinity;
  #lostAt = -Infinity;

  constructor(options: DeathRuleOptions) {
    this.#options = options;
  }

  claimed({ topic, id }: Claim): void {
    if (this.#dead.has(id)) this.#violated(`${id} is handed out, although it is a dead letter`, id, topic);
  }

  settled({ topic, id, outcome, failure, isAnother }: Settle): void {
    const { attempts, messages, world } = this.#options;
    const most = TOPICS[topic]?.options.attempts ?? Infinity;
    const { attempt = 0 } = attempts.of(id) ?? {};
    if (outcome === 'r' && attempt >= most) {
      this.#violated(`attempt ${attempt} of ${id} is repeated, and there are ${most}`, id, topic);
    }
    if (!DYING.has(outcome) || isAnother) return;
    this.#dead.set(id, { topic, at: world.now });
    this.#untold.set(id, (this.#untold.get(id) ?? 0) + 1);
    const { reason } = JSON.parse(failure) as { reason: FailureReason };
    world.trace('redis', `${id} is a dead letter: ${reason}`);
    const message = messages.find(id);
    if (!message) return;
    // Operators bring those back.
    if (topic !== OPERATED) messages.ended(id);
    const wrong = this.#whyWrong(message, reason, most);
    if (wrong !== undefined) this.#violated(`${id} dies (${reason}), although ${wrong}`, id, topic);
  }

  /** Those that an operator has taken away are none any more. */
  ran({ call: { name, place } }: ServerCall): void {
    const { dead: key } = place as { readonly dead?: string };
    if (key === undefined || !/dead|clear|requeue/.test(name)) return;
    const left = new Set(this.#idsIn(key));
    const [, topic] = /\{dq:(.*):\d+\}/.exec(key) ?? [];
    for (const [id, death] of this.#dead) {
      if (death.topic === topic && !left.has(id)) this.#dead.delete(id);
    }
  }

  begin(run: Run): void {
    const { server, messages, attempts, world } = this.#options;
    const { expireAfter } = TOPICS[run.topic]?.options ?? {};
    const { dueAt } = messages.find(run.id) ?? {};
    const isFirst = attempts.of(run.id)?.delivery === 1;
    if (expireAfter === undefined || dueAt === undefined || !isFirst || world.now < this.#steppedUntil) return;
    const late = server.now() - dueAt - Number(expireAfter);
    if (late > CLOCK_ERROR) {
      this.#violated(
        `${run.id} begins ${Math.round(late)} ms after it has expired`,
        run.id,
        run.process.name,
        'expired',
      );
    }
  }

  /** A hook was called. */
  readonly told = ({ id, topic, failure }: DeadLetter): void => {
    const times = this.#untold.get(id) ?? 0;
    this.#untold.set(id, times - 1);
    if (times < 1) this.#violated(`a hook is told of ${id} (${failure.reason}), which has not died`, id, topic);
  };

  /** All that has died is there until somebody takes it away. */
  look(topic: string, keys: readonly string[]): void {
    const stored = new Set(keys.flatMap((key) => this.#idsIn(key)));
    for (const [id, death] of this.#dead) {
      if (death.topic === topic && !stored.delete(id)) this.#violated(`the dead letter ${id} is gone`, id, topic);
    }
    const [id] = stored;
    if (id !== undefined && this.#lostAt === -Infinity) this.#violated(`${id} is a dead letter`, id, topic);
  }

  redisLost(since: number): void {
    this.#lostAt = this.#options.world.now;
    for (const [id, { at }] of this.#dead) if (at >= since) this.#dead.delete(id);
  }

  clockStepped(): void {
    this.#steppedUntil = this.#options.world.now + CLOCK_ERROR;
  }

  #whyWrong(message: Published, reason: FailureReason, most: number): string | undefined {
    const { attempt = 0, spent = 0 } = this.#options.attempts.of(message.id) ?? {};
    switch (reason) {
      case 'failed':
        return attempt === most ? undefined : `it has spent ${attempt} of ${most} attempts`;
      case 'crashed':
        return attempt > most && spent > 0 ? undefined : `crashes have spent at most ${spent} of its attempts`;
      case 'unrecoverable':
        return message.trouble?.kind === 'gives up' ? undefined : 'it could be handled';
      case 'expired':
        return this.#whyNotExpired(message);
      case 'undecodable':
        return this.#options.messages.isDamaged(message.id) ? undefined : 'nobody has damaged it';
      default:
        return 'nothing is wrong with it';
    }
  }

  #whyNotExpired({ id, dueAt = -Infinity, topic }: Published): string | undefined {
    const { attempts, server, world } = this.#options;
    const { expireAfter = Infinity } = TOPICS[topic]?.options ?? {};
    const delivery = attempts.of(id)?.delivery ?? 1;
    const late = server.now() - dueAt;
    const isLate = late > Number(expireAfter) - CLOCK_ERROR || world.now < this.#steppedUntil;
    return isLate && delivery === 1 ? undefined : `it is ${Math.round(late)} ms late in delivery ${delivery}`;
  }

  #idsIn(key: string): string[] {
    const stored = this.#options.server.data.call('ZRANGE', key, '0', '-1') as string[];
    return stored.map((storedId) => fromStoredId(storedId).id);
  }

  #violated(text: string, id: string, about: string, rule = 'dead'): void {
    this.#options.violated(rule, text, [id, about]);
  }
}
