import { MADE_BY, capitalized, pascalCase, withValues, worded, wrapped } from './schemas.mjs';

const WIDTH = 145;

/** The structs of what is answered, and what they have besides. What has none is given as it is told. */
const ANSWERS = {
  PublishedMessage: 'Published',
  Message: 'Details',
  Failure: 'Failure',
  FailedAttempt: 'FailedAttempt',
  PayloadIssue: 'PayloadIssue',
  CancelTaggedResult: 'CancelledTagged',
  ReceivedMessage: 'Message',
  SettleResult: 'Result',
  TopicStats: 'Stats',
  PartitionStats: 'PartitionStats',
  TopicCounters: 'Counters',
  Explanation: 'Explanation',
  ExplainFacts: 'Facts',
  Receiver: 'Receiver',
  Schedule: 'Schedule',
};

/** The structs of what is asked for. */
const REQUESTS = {
  NewMessage: 'PublishOptions',
  'NewMessage.replicas': 'Replicas',
  NewSchedule: 'ScheduleRule',
  'NewSchedule.options': 'ScheduledMessageOptions',
  Settlement: 'Settlement',
  HandlerError: 'HandlerError',
  LocalTime: 'LocalTime',
  Extension: 'Extension',
};

/** Named types of texts, with what stands before the names of their constants. What has no name is a string. */
const CHOICES = [
  { name: 'OnDuplicate', before: '', of: ['NewMessage.onDuplicate'] },
  { name: 'Outcome', before: '', of: ['Settlement.outcome'] },
  {
    name: 'Status',
    before: 'Status',
    of: ['SettleResult.status', 'ExtendResult.status', 'CancelResult.result', 'RescheduleResult.result'],
  },
];

/** Errors behind an error are as it is. */
const BY_HAND = { Duration: 'time.Duration', Time: 'time.Time', Backoff: '*Backoff', FailureCause: 'Failure' };

/** What two structs share is a struct of its own, which they embed. */
const SHARED = {
  name: 'Counts',
  of: ['TopicStats', 'PartitionStats'],
  text: 'What a topic, or one of its partitions, holds.',
};

/** Fields that are declared in another way. */
const OTHERWISE = {
  // An argument of its own.
  'NewMessage.payload': [],
  'NewSchedule.payload': ['// Anything that [json.Marshal] can write.', 'Payload any'],
  // No time at all is the one that it comes by itself.
  'Settlement.delay': ['Delay *time.Duration `wire:"delay"`'],
};

/** Unexported fields. */
const BESIDES = { ReceivedMessage: ['', '\tclient *Client'] };

/** What means more, or less, than its schema. */
const TEXTS = {
  NewMessage: 'How a message is published. What is left out is as its topic has it.',
  ExplainFacts: 'Facts that an explanation is based on. What is unknown, or does not apply, is zero.',
  SettleResult: 'Result of a settlement, or of an extension.',
  'SettleResult.status': 'What was done; see [Status].',
};

const INITIALISMS = { Id: 'ID', Ids: 'IDs' };

export function goTypes(schemas) {
  return new Map([['clients/go/wire_types.go', new Go(schemas).types()]]);
}

class Go {
  #schemas;

  constructor(schemas) {
    this.#schemas = schemas;
  }

  types() {
    const parts = [
      ...CHOICES.map((choice) => this.#choice(choice)),
      this.#codes(),
      ...Object.entries(REQUESTS).map(([path, name]) => this.#struct(name, this.#schemas.object(path), 'wire')),
      this.#struct(SHARED.name, { ...SHARED, fields: this.#sharedFields() }, 'json'),
      ...Object.entries(ANSWERS).map(([path, name]) => this.#answer(path, name)),
    ];
    return `// ${MADE_BY}

package delayqueue

import (
	"encoding/json"
	"time"
)

${parts.join('\n')}`;
  }

  #choice({ name, before, of }) {
    const fields = of.map((path) => this.#fieldAt(path));
    const values = [...new Set(fields.flatMap(({ type }) => type.values))];
    return [
      ...comment(name, fields[0].text),
      ...fields.slice(1).flatMap(({ text }) => ['//', ...wrapped(said(text), '// ', WIDTH)]),
      `type ${name} string`,
      '',
      `// The values of [${name}].`,
      ...constants(
        values.map((value) => [`${before}${pascalCase(value)}`, value]),
        name,
      ),
      '',
    ].join('\n');
  }

  #codes() {
    const { type } = this.#fieldAt('Problem.code');
    const names = type.values.map((value) => {
      const words = value.toLowerCase().replaceAll('_', '-');
      return [`Err${pascalCase(words).replace('Json', 'JSON')}`, value];
    });
    return ['// The codes of the gateway; its guide says what to do about each.', ...constants(names, 'Code'), ''].join(
      '\n',
    );
  }

  #fieldAt(path) {
    const [object, name] = path.split('.');
    return this.#schemas.object(object).fields.find((field) => field.name === name);
  }

  #sharedFields() {
    const [first, second] = SHARED.of.map((path) => this.#schemas.object(path).fields);
    return first.filter(({ name }) => second.some((one) => one.name === name));
  }

  #answer(path, name) {
    const { text, fields } = this.#schemas.object(path);
    const shared = SHARED.of.includes(path) ? this.#sharedFields().map((field) => field.name) : [];
    const own = fields.filter((field) => !shared.includes(field.name));
    const head = shared.length > 0 ? [`\t${SHARED.name}`] : [];
    const struct = this.#struct(name, { path, text, fields: own }, 'json', head);
    // Those of what it embeds as well, which would not be read otherwise.
    const times = fields.filter(({ type }) => type.kind === 'milliseconds');
    return times.length === 0 ? struct : `${struct}\n${this.#reader(name, times)}`;
  }

  #struct(name, { path, text, fields }, tag, head = []) {
    const lines = fields.flatMap((field) => this.#field(field, tag));
    return [
      ...comment(name, TEXTS[path] ?? text),
      `type ${name} struct {`,
      ...head,
      ...lines,
      ...(BESIDES[path] ?? []),
      '}',
      '',
    ].join('\n');
  }

  #field(field, tag) {
    const { name, path, type, isRequired } = field;
    const about = wrapped(this.#textOf(field), '\t// ', WIDTH);
    const other = OTHERWISE[path];
    if (other) return other.length === 1 ? [...about, `\t${other[0]}`] : other.map((line) => `\t${line}`);
    if (type.name === 'DueTime') {
      return [
        ...about,
        `\t${goName(name)} time.Time \`${tag}:"${name}"\``,
        `\t// In place of ${goName(name)}: when the clocks of a time zone show it.`,
        `\t${goName(name)}Local *LocalTime \`${tag}:"${name}"\``,
      ];
    }
    return [...about, `\t${goName(name)} ${typeText(type, path, isRequired)} \`${tag}:"${name}"\``];
  }

  #textOf({ path, text, type: { kind, values } }) {
    const isUnnamed = kind === 'choice' && !CHOICES.some(({ of }) => of.includes(path));
    if (isUnnamed) return said(withValues(text, values, (value) => `'${value}'`));
    // The unit is that of the type.
    return said(
      TEXTS[path] ?? (kind === 'milliseconds' ? text.replace(/,? in milliseconds|; milliseconds/, '') : text),
    );
  }

  /** The gateway writes lengths of time as milliseconds. */
  #reader(name, fields) {
    const self = name[0].toLowerCase();
    const times = fields.map((field) => goName(field.name));
    const longest = Math.max(...times.map((time) => time.length));
    return [
      '// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.',
      `func (${self} *${name}) UnmarshalJSON(text []byte) error {`,
      `\ttype plain ${name}`,
      '\treturn json.Unmarshal(text, &struct {',
      '\t\t*plain',
      ...fields.map((field, i) => `\t\t${times[i].padEnd(longest)} *millis \`json:"${field.name}"\``),
      `\t}{(*plain)(${self}), ${times.map((time) => `(*millis)(&${self}.${time})`).join(', ')}})`,
      '}',
      '',
    ].join('\n');
  }
}

function comment(name, text) {
  return wrapped(`${name}: ${text[0].toLowerCase()}${said(text.slice(1))}`, '// ', WIDTH);
}

function constants(names, type) {
  const longest = Math.max(...names.map(([name]) => name.length));
  return ['const (', ...names.map(([name, value]) => `\t${name.padEnd(longest)} ${type} = "${value}"`), ')'];
}

function typeText(type, path, isRequired) {
  switch (type.kind) {
    case 'text':
      return 'string';
    case 'choice':
      return CHOICES.find(({ of }) => of.includes(path))?.name ?? 'string';
    case 'whole':
      return 'int';
    case 'milliseconds':
      return 'time.Duration';
    case 'flag':
      return 'bool';
    case 'time':
      return 'time.Time';
    case 'list':
      return `[]${typeText(type.of, path, true)}`;
    case 'map':
      return type.of.kind === 'text' ? 'map[string]string' : 'json.RawMessage';
    case 'object':
      return `*${REQUESTS[path]}`;
    case 'ref':
      return referred(type.name, isRequired);
    default:
      return 'json.RawMessage';
  }
}

function referred(name, isRequired) {
  const known = BY_HAND[name];
  // Times have a value of their own for none, and of a backoff there is no other.
  const isOptional = !isRequired && !known?.startsWith('time.') && !known?.startsWith('*');
  return `${isOptional ? '*' : ''}${known ?? ANSWERS[name] ?? REQUESTS[name]}`;
}

function goName(name) {
  return INITIALISMS[capitalized(name)] ?? capitalized(name);
}

function code(inner) {
  return /^[a-z]+[A-Z]\w*$/.test(inner) ? goName(inner) : inner.replaceAll("'", '"');
}

function said(text) {
  return worded(text, { code, nothing: 'zero' }).replaceAll(/, such as \{.*?\}(?=\.)/g, '');
}
