import { AUDITED_ACTIONS, type AuditedAction, assertActor } from '../events/audit-log.js';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { asConfiguration, assertBoolean, assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { Refusal } from '../http/refusal.js';
import type { DashboardUser } from './access.js';

/** What a user may do, with nothing left open; `GET api/session` tells it, so that the page offers nothing else. */
export interface Rights {
  readonly actor: string | undefined;
  /** Names, and beginnings of names with `*` behind them; `undefined`: all topics. */
  readonly topics: readonly string[] | undefined;
  readonly actions: readonly AuditedAction[];
  readonly payloads: boolean;
}

const MEMBERS: readonly (keyof DashboardUser)[] = ['right', 'actor', 'topics', 'actions', 'payloads'];

/** Somebody who may see the dashboard, or a part of it. */
export class Viewer {
  readonly rights: Rights;

  constructor(rights: Rights) {
    this.rights = rights;
  }

  get seesAllTopics(): boolean {
    return this.rights.topics === undefined;
  }

  sees(topic: string): boolean {
    return (
      this.rights.topics?.some((one) => (one.endsWith('*') ? topic.startsWith(one.slice(0, -1)) : topic === one)) ??
      true
    );
  }

  /** @throws Refusal */
  assertSees(topic: string): void {
    if (!this.sees(topic)) throw forbidden('You may not see this topic.');
  }

  /** @throws Refusal */
  assertSeesAllTopics(): void {
    if (!this.seesAllTopics) throw forbidden('Only who may see all topics may see this.');
  }

  /** @throws Refusal */
  assertSeesPayloads(): void {
    if (!this.rights.payloads) throw forbidden('You may not see payloads, so you may neither search nor edit them.');
  }

  /** @throws Refusal */
  assertMay(action: AuditedAction): void {
    if (!this.rights.actions.includes(action)) throw forbidden(`You may not do this: ${action}.`);
  }
}

/**
 * Who somebody is by what the option `access` has answered; `undefined` if they may see nothing.
 *
 * @throws ConfigurationError if it has answered something else than it may
 */
export function viewerOf(answer: unknown): Viewer | undefined {
  return asConfiguration("What the option 'access' of the dashboard has answered", () => {
    if (answer === 'none') return undefined;
    const user = answer === 'read' || answer === 'operate' ? { right: answer } : answer;
    if (!isPlainObject(user)) {
      throw new InvalidArgumentError(
        `It must be 'none', 'read', 'operate' or an object with some of ${MEMBERS.join(', ')}. Given: ${describe(answer)}.`,
      );
    }
    assertOptions('The user', user, MEMBERS);
    const { right, actor, topics } = user;
    const { actions = right === 'operate' ? AUDITED_ACTIONS : [], payloads = right !== undefined } = user;
    if (right !== undefined) assertOneOf('right', right, ['read', 'operate']);
    assertActor(actor);
    if (topics !== undefined) assertTopics(topics);
    assertActions(actions);
    assertBoolean('payloads', payloads);
    return new Viewer({ actor, topics, actions, payloads });
  });
}

function assertTopics(topics: unknown): asserts topics is readonly string[] {
  if (Array.isArray(topics) && topics.every((one) => typeof one === 'string' && /^[^*]*\*?$/.test(one))) return;
  throw new InvalidArgumentError(
    `topics must be an array of names, and of beginnings of names such as 'order.*'. Given: ${describe(topics)}.`,
  );
}

function assertActions(actions: unknown): asserts actions is readonly AuditedAction[] {
  if (!Array.isArray(actions)) {
    throw new InvalidArgumentError(`actions must be an array. Given: ${describe(actions)}.`);
  }
  for (const action of actions) assertOneOf('Each of actions', action, AUDITED_ACTIONS);
}

function forbidden(message: string): Refusal {
  return new Refusal(403, 'FORBIDDEN', message);
}
