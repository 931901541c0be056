import { MADE_BY, withValues, worded, wrapped } from './schemas.mjs';

const FOLDER = 'clients/python/src/nestjs_delay_queue';
const WIDTH = 120;

/** The classes of what is answered. What has none is given as it is told. */
const ANSWERS = {
  PublishedMessage: 'PublishedMessage',
  Message: 'StoredMessage',
  Failure: 'Failure',
  FailedAttempt: 'FailedAttempt',
  CancelTaggedResult: 'CancelledTagged',
  ReceivedMessage: 'ReceivedFields',
  SettleResult: 'SettleResult',
  ExtendResult: 'ExtendResult',
  TopicStats: 'TopicStats',
  Explanation: 'Explanation',
  Schedule: 'Schedule',
  FailedSchedules: 'FailedSchedules',
};

/** The classes of what is asked for. */
const REQUESTS = {
  NewMessage: 'Message',
  Settlement: 'Settlement',
  'NewSchedule.options': 'ScheduledMessage',
  NewSchedule: 'NewSchedule',
};

/** Texts that have a few values. What has no name here is a text. */
const CHOICES = {
  'NewMessage.onDuplicate': 'OnDuplicate',
  'Message.state': 'MessageState',
  'CancelResult.result': 'CancelResult',
  'RescheduleResult.result': 'RescheduleResult',
  'Settlement.outcome': 'Outcome',
  'SettleResult.status': 'SettleStatus',
  'ExtendResult.status': 'ExtendStatus',
  'NewSchedule.catchUp': 'CatchUp',
  'NewSchedule.overlap': 'Overlap',
};

/** Types that are written by hand, beside the classes. */
const BY_HAND = {
  Duration: 'Duration',
  Time: 'Time',
  DueTime: 'Time',
  Backoff: 'Mapping[str, Any]',
  Problem: 'DelayQueueError',
  TopicCounters: 'Mapping[str, int]',
};

const CONSTANTS = { true: 'True', false: 'False' };

/** A reason may be what was raised, which is sent as the error. */
const REASON = { 'Settlement.reason': 'Reason', 'Settlement.error': undefined };

/** Who receives changes it. */
const CHANGING = '@dataclass(eq=False)';

export function pythonTypes(schemas) {
  return new Map([
    [`${FOLDER}/_wire.py`, new Python(schemas).types()],
    [`${FOLDER}/_options.py`, new Python(schemas).methods()],
  ]);
}

class Python {
  #schemas;

  constructor(schemas) {
    this.#schemas = schemas;
  }

  types() {
    return (
      `"""What the gateway takes and answers, as dataclasses."""

# ${MADE_BY}

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence

from ._errors import DelayQueueError
from ._fields import Answer, Given, Json, Reason
from ._times import Duration, Time

${this.#choices()}${this.#classes(REQUESTS, 'Given')}${this.#classes(ANSWERS, 'Answer')}`.trimEnd() + '\n'
    );
  }

  #choices() {
    return Object.entries(CHOICES)
      .map(([path, name]) => {
        const [object, field] = path.split('.');
        const { text, type } = this.#schemas.object(object).fields.find((one) => one.name === field);
        const values = type.values.map((value) => `"${value}"`).join(', ');
        return [...wrapped(said(text), '#: ', WIDTH), `${name} = Literal[${values}]`, ''].join('\n');
      })
      .join('');
  }

  #classes(names, base) {
    return Object.entries(names)
      .map(([path, name]) => {
        const { text, fields } = this.#schemas.object(path);
        const lines = fields.flatMap((field) => this.#field(field));
        const head = name === 'ReceivedFields' ? CHANGING : '@dataclass(frozen=True)';
        const doc = wrapped(`"""${said(text)}"""`, '    ', WIDTH);
        return ['', '', head, `class ${name}(${base}):`, ...doc, '', ...lines, ''].join('\n');
      })
      .join('');
  }

  #field(field) {
    const type = this.#fieldType(field);
    if (type === undefined) return [];
    const {
      type: { kind, values },
      path,
      text,
      name,
      isRequired,
    } = field;
    const isUnnamed = kind === 'choice' && !nameOfChoice(path);
    const about = isUnnamed ? withValues(text, values, (value) => `'${value}'`) : text;
    // Nothing is in a list that was left out of an answer.
    const otherwise = kind === 'list' && !isGiven(path) ? `${type} = ()` : `${optional(type)} = None`;
    const declared = isRequired ? type : otherwise;
    return [...wrapped(said(about), '    #: ', WIDTH), `    ${snakeCase(name)}: ${declared}`];
  }

  #fieldType({ type, path }) {
    return path in REASON ? REASON[path] : typeText(type, path);
  }

  /** Methods that take each option by its name, so that an editor knows them. */
  methods() {
    const message = this.#schemas.object('NewMessage').fields.filter(({ isRequired }) => !isRequired);
    const rule = this.#schemas
      .object('NewSchedule')
      .fields.filter(({ isRequired, name }) => !isRequired && name !== 'options');
    const options = this.#schemas.object('NewSchedule.options').fields;
    const publish = `class PublishMethod(ABC):
    def publish(
        self,
        topic: str,
        payload: Any,
        *,
${this.#parameters(message)}
    ) -> PublishedMessage:
        """Publishes one message. :class:\`Message\` says what the options mean.

        :raises DuplicateMessageError: if the id exists, unless \`\`on_duplicate\`\` says otherwise
        :raises PayloadTooLargeError, InvalidArgumentError, ForbiddenError, NotFoundError, UnavailableError:
        """
        message = Message(
            payload,
${passed(message)}
        )
        return self._publish(topic, message)

    @abstractmethod
    def _publish(self, topic: str, message: Message) -> PublishedMessage: ...
`;
    const put = `class PutMethod(ABC):
    def put(
        self,
        id: str,
        topic: str,
        payload: Any,
        *,
${this.#parameters([...rule, ...options])}
    ) -> Schedule:
        """Stores it, in place of an earlier one of this id. :class:\`Message\` says what the options of its messages mean.

${rule.flatMap((field) => parameterText(field)).join('\n')}
        """
        options = ScheduledMessage(
${passed(options)}
        )
        schedule = NewSchedule(
            topic,
            payload,
${passed(rule)}
            options=options,
        )
        return self._put(id, schedule)

    @abstractmethod
    def _put(self, id: str, schedule: NewSchedule) -> Schedule: ...
`;
    return `"""The methods that have an argument for each option of a message or a schedule."""

# ${MADE_BY}

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Mapping, Optional, Sequence

from ._times import Duration, Time
from ._wire import ${usedIn(publish + put).join(', ')}


${publish}

${put}`;
  }

  #parameters(fields) {
    const types = fields.map((field) => `${snakeCase(field.name)}: ${optional(this.#fieldType(field))} = None`);
    return types.map((one) => `        ${one},`).join('\n');
  }
}

function passed(fields) {
  return fields.map(({ name }) => `            ${snakeCase(name)}=${snakeCase(name)},`).join('\n');
}

function parameterText({ name, text }) {
  const [first, ...others] = wrapped(`:param ${snakeCase(name)}: ${said(text)}`, '        ', WIDTH - 4);
  return [first, ...others.map((line) => `    ${line}`)];
}

function typeText(type, path) {
  switch (type.kind) {
    case 'text':
      return 'str';
    case 'choice':
      return nameOfChoice(path) ?? 'str';
    case 'whole':
      return 'int';
    case 'milliseconds':
      return 'float';
    case 'flag':
      return 'bool';
    case 'time':
      return 'datetime';
    case 'list':
      return `Sequence[${typeText(type.of, path)}]`;
    case 'map':
      return `Mapping[str, ${typeText(type.of, path)}]`;
    case 'object':
      return REQUESTS[path] ?? 'Mapping[str, Any]';
    case 'ref':
      return BY_HAND[type.name] ?? ANSWERS[type.name] ?? 'Json';
    default:
      return 'Any';
  }
}

/** A choice of an answer may be one that somebody has asked for. */
function nameOfChoice(path) {
  const asked = { 'Schedule.catchUp': 'NewSchedule.catchUp', 'Schedule.overlap': 'NewSchedule.overlap' };
  return CHOICES[asked[path] ?? path];
}

/** The names of the types that stand in a text. */
function usedIn(text) {
  const all = [REQUESTS, ANSWERS, CHOICES].flatMap((names) => Object.values(names));
  return all.filter((name) => new RegExp(`\\b${name}\\b`).test(text)).toSorted();
}

function isGiven(path) {
  return path.split('.')[0] in REQUESTS || path in REQUESTS;
}

function optional(type) {
  return type === 'Any' ? type : `Optional[${type}]`;
}

function snakeCase(name) {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function code(inner) {
  return `\`\`${CONSTANTS[inner] ?? (/^[a-z]+[A-Za-z]*$/.test(inner) ? snakeCase(inner) : inner)}\`\``;
}

function said(text) {
  return worded(text, { code, nothing: 'None' });
}
