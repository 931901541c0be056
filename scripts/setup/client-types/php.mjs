import { MADE_BY, pascalCase, withValues, worded, wrapped } from './schemas.mjs';

const FOLDER = 'clients/php/src';
const WIDTH = 120;

/** The classes of what is answered. What has none is an object of JSON, as it is told. */
const ANSWERS = {
  PublishedMessage: 'PublishedMessage',
  Message: 'MessageDetails',
  CancelTaggedResult: 'TagCancellation',
  ReceivedMessage: 'ReceivedMessage',
  TopicStats: 'TopicStats',
  Explanation: 'Explanation',
  Schedule: 'Schedule',
  FailedSchedules: 'FailedSchedules',
};

/** The classes of what is asked for. */
const REQUESTS = { NewMessage: 'PublishOptions', NewSchedule: 'NewSchedule' };

/** Texts that have a few values. What has no name here is a string. */
const CHOICES = {
  'NewMessage.onDuplicate': 'OnDuplicate',
  'Message.state': 'MessageState',
  'CancelResult.result': 'CancelResult',
  'RescheduleResult.result': 'RescheduleResult',
  'SettleResult.status': 'SettleStatus',
  'ExtendResult.status': 'LeaseStatus',
};

const DURATION = 'int|string|\\DateInterval';
const TIME = '\\DateTimeInterface|int|string';

/** Types that are written by hand. */
const BY_HAND = { Duration: DURATION, Time: TIME, DueTime: TIME, Backoff: 'Backoff', Problem: 'DelayQueueException' };

/** How they are sent. */
const SENT = {
  Duration: (name) => `Time::duration('${name}', $this->${name})`,
  Time: (name) => `Time::moment($this->${name})`,
  DueTime: (name) => `Time::moment($this->${name})`,
};

/** Objects that are arrays, as those whose names may be any are. */
const ARRAYS = { ExplainFacts: 'array<string, mixed>', TopicCounters: 'array<string, int>' };

/** What means more, or less, than its schema. */
const TEXTS = { NewMessage: 'How a message is published. What is left out is as its topic has it.' };

/** Fields that are declared in another way: their parameters, and what is sent. */
const OTHERWISE = {
  // An argument of its own.
  'NewMessage.payload': { parameters: [], sent: [] },
  'NewMessage.replicas': {
    parameters: [
      { name: 'replicas', type: '?int', otherwise: 'null' },
      { name: 'replicasTimeout', type: DURATION, otherwise: "'1s'" },
    ],
    sent: [
      "'replicas' => $this->replicas === null ? null : [",
      "    'min' => $this->replicas,",
      "    'timeout' => Time::duration('replicasTimeout', $this->replicasTimeout),",
      '],',
    ],
  },
  'NewSchedule.options': {
    parameters: [{ name: 'options', type: '?PublishOptions', otherwise: 'null' }],
    sent: ["'options' => $this->options === null ? null : (object) $this->options->toFields(),"],
  },
};

/** What is written by hand of a class. */
const TRAITS = { ReceivedMessage: { use: 'Internal\\Settling', parameter: 'private readonly DelayQueue $queue' } };

export function phpTypes(schemas) {
  const php = new Php(schemas);
  return new Map([
    ...Object.entries(CHOICES).map(([path, name]) => [`${FOLDER}/${name}.php`, php.choice(path, name)]),
    ...Object.entries(REQUESTS).map(([path, name]) => [`${FOLDER}/${name}.php`, php.request(path, name)]),
    ...Object.entries(ANSWERS).map(([path, name]) => [`${FOLDER}/${name}.php`, php.answer(path, name)]),
  ]);
}

class Php {
  #schemas;

  constructor(schemas) {
    this.#schemas = schemas;
  }

  choice(path, name) {
    const [object, field] = path.split('.');
    const { text, type } = this.#schemas.object(object).fields.find((one) => one.name === field);
    const cases = type.values.map((value) => `    case ${pascalCase(value)} = '${value}';`);
    return file([], [...comment([said(text)], ''), `enum ${name}: string`, '{', ...cases, '}']);
  }

  request(path, name) {
    const { text, fields } = this.#schemas.object(path);
    const always = sentLines(fields.filter(({ isRequired }) => isRequired));
    const given = sentLines(fields.filter(({ isRequired }) => !isRequired));
    return file(
      ['use NestjsDelayQueue\\Internal\\{Json, Time};', ''],
      [
        ...comment([said(TEXTS[path] ?? text)], ''),
        `final class ${name}`,
        '{',
        ...this.#signature(fields),
        '',
        '    /** @internal @return array<string, mixed> */',
        '    public function toFields(): array',
        '    {',
        '        return [',
        ...always.map((line) => `            ${line}`),
        '            ...Json::given([',
        ...given.map((line) => `                ${line}`),
        '            ]),',
        '        ];',
        '    }',
        '}',
      ],
    );
  }

  answer(path, name) {
    const { text, fields } = this.#schemas.object(path);
    const { use, parameter } = TRAITS[path] ?? {};
    const imported = fields.some(({ type }) => BY_HAND[type.name] === 'DelayQueueException');
    return file(imported ? ['use NestjsDelayQueue\\Exception\\DelayQueueException;', ''] : [], [
      ...comment([said(text)], ''),
      `final class ${name}`,
      '{',
      ...(use ? [`    use ${use};`, ''] : []),
      ...this.#signature(fields, parameter),
      '}',
    ]);
  }

  #signature(fields, besides) {
    const parameters = fields.flatMap((field) => OTHERWISE[field.path]?.parameters ?? [parameterOf(field)]);
    const declared = parameters.map(({ name, type, otherwise }) => {
      return `        public readonly ${type} $${name}${otherwise === undefined ? '' : ` = ${otherwise}`},`;
    });
    const texts = fields.filter((field) => OTHERWISE[field.path]?.parameters.length !== 0).map(parameterText);
    return [
      ...comment(texts, '    '),
      '    public function __construct(',
      ...declared,
      ...(besides ? [`        ${besides},`] : []),
      '    ) {}',
    ];
  }
}

function file(uses, lines) {
  return [
    '<?php',
    '',
    `// ${MADE_BY}`,
    '',
    'declare(strict_types=1);',
    '',
    'namespace NestjsDelayQueue;',
    '',
    ...uses,
    ...lines,
    '',
  ].join('\n');
}

function comment(texts, indent) {
  if (texts.length === 1 && indent.length + texts[0].length + 7 <= WIDTH) return [`${indent}/** ${texts[0]} */`];
  const lines = texts.flatMap((text) => {
    const [first, ...others] = wrapped(text, `${indent} * `, WIDTH - 4);
    const hanging = text.startsWith('@') ? '    ' : '';
    return [first, ...others.map((line) => line.replace(`${indent} * `, `${indent} * ${hanging}`))];
  });
  return [`${indent}/**`, ...lines, `${indent} */`];
}

function parameterOf({ name, path, type, isRequired }) {
  const declared = typeText(type, path);
  if (isRequired) return { name, type: declared };
  const isSingle = !declared.includes('|');
  const optional = declared === 'mixed' ? declared : isSingle ? `?${declared}` : `${declared}|null`;
  return { name, type: optional, otherwise: 'null' };
}

function parameterText({ name, path, text, type, isRequired }) {
  const about =
    type.kind === 'choice' && !(path in CHOICES) ? withValues(text, type.values, (value) => `'${value}'`) : text;
  const otherwise = isRequired || type.kind === 'any' ? '' : '|null';
  return `@param ${documentedType(type, path)}${otherwise} $${name} ${said(about)}`;
}

function documentedType(type, path) {
  if (path in OTHERWISE) return OTHERWISE[path].parameters[0].type.replace('?', '');
  if (type.kind === 'list') return `list<${typeText(type.of, path)}>`;
  if (type.kind === 'map' && type.of.kind !== 'any') return `array<string, ${typeText(type.of, path)}>`;
  return ARRAYS[type.name] ?? typeText(type, path);
}

function typeText(type, path) {
  switch (type.kind) {
    case 'text':
      return 'string';
    case 'choice':
      return CHOICES[path] ?? 'string';
    case 'whole':
      return 'int';
    case 'milliseconds':
      return 'int|float';
    case 'flag':
      return 'bool';
    case 'time':
      return '\\DateTimeImmutable';
    case 'list':
      return 'array';
    case 'map':
      return type.of.kind === 'any' ? '\\stdClass' : 'array';
    case 'ref':
      return type.name in ARRAYS ? 'array' : (BY_HAND[type.name] ?? ANSWERS[type.name] ?? '\\stdClass');
    default:
      return 'mixed';
  }
}

function sentLines(fields) {
  return fields.flatMap((field) => OTHERWISE[field.path]?.sent ?? [`'${field.name}' => ${sentOf(field)},`]);
}

function sentOf({ name, type }) {
  if (type.kind === 'ref' && SENT[type.name]) return SENT[type.name](name);
  // PHP cannot tell an empty map from an empty list.
  if (type.kind === 'map') return `$this->${name} === null ? null : (object) $this->${name}`;
  if (type.kind === 'list') return `$this->${name} === null ? null : array_values($this->${name})`;
  return `$this->${name}`;
}

function code(inner) {
  return inner.startsWith("'") ? inner : `\`${inner}\``;
}

function said(text) {
  return worded(text, { code, nothing: 'null' }).replaceAll(/, such as \{.*?\}(?=\.)/g, '');
}
