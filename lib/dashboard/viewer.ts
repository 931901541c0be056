import type { AuditedAction } from '../admin/index.js';
import { AUDITED_ACTIONS, checkedActor } from '../events/audit-log.js';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { type Rules, applyRules, oneOf, orElse, trueOrFalse } from '../checks/rules.js';
import { asConfiguration, assertOneOf } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { Refusal } from '../http/refusal.js';
import type { DashboardUser } from './access.js';

/** Rights of a user, with all defaults applied; `GET api/session` returns them, so that the page offers nothing else. */
export interface Rights {
  readonly actor: string | undefined;
  /** Names, and prefixes of names that end in `*`; `undefined`: all topics. */
  readonly topics: readonly string[] | undefined;
  readonly actions: readonly AuditedAction[];
  readonly payloads: boolean;
}

/** A user who is allowed to see the dashboard, or a part of it. */
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
  assertMay(action: 'look' | AuditedAction): void {
    if (action !== 'look' && !this.rights.actions.includes(action)) throw forbidden(`You may not do this: ${action}.`);
  }
}

/**
 * Makes a viewer of an answer of the option `access`; `undefined` if they are not allowed to see anything.
 *
 * @throws ConfigurationError if it is not a valid answer
 */
export function viewerOf(answer: unknown): Viewer | undefined {
  return asConfiguration("What the option 'access' of the dashboard has answered", () => {
    if (answer === 'none') return undefined;
    const user = answer === 'read' || answer === 'operate' ? { right: answer } : answer;
    if (!isPlainObject(user)) {
      throw new InvalidArgumentError(
        `It must be 'none', 'read', 'operate' or an object with some of ${Object.keys(USER_RULES).join(', ')}. Given: ${describe(answer)}.`,
      );
    }
    const { right, actor, topics, actions, payloads } = applyRules(USER_RULES, 'The user', user, '');
    return new Viewer({
      actor,
      topics,
      actions: actions ?? (right === 'operate' ? AUDITED_ACTIONS : []),
      payloads: payloads ?? right !== undefined,
    });
  });
}

const USER_RULES = {
  right: orElse(oneOf('read', 'operate'), undefined),
  actor: checkedActor,
  topics: orElse(checkedTopics, undefined),
  actions: orElse(checkedActions, undefined),
  payloads: orElse(trueOrFalse, undefined),
} satisfies Rules<DashboardUser>;

function checkedTopics(name: string, topics: unknown): readonly string[] {
  if (Array.isArray(topics) && topics.every((one) => typeof one === 'string' && /^[^*]*\*?$/.test(one))) return topics;
  throw new InvalidArgumentError(
    `${name} must be an array of names, and of beginnings of names such as 'order.*'. Given: ${describe(topics)}.`,
  );
}

function checkedActions(name: string, actions: unknown): readonly AuditedAction[] {
  if (!Array.isArray(actions)) {
    throw new InvalidArgumentError(`${name} must be an array. Given: ${describe(actions)}.`);
  }
  for (const action of actions) assertOneOf(`Each of ${name}`, action, AUDITED_ACTIONS);
  return actions;
}

function forbidden(message: string): Refusal {
  return new Refusal(403, 'FORBIDDEN', message);
}
