import { type CronOptions, SchedulerRegistry } from '@nestjs/schedule';
import ms, { type StringValue } from 'ms';
import { Registry, type Metric } from 'prom-client';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { describe, expect, it } from 'vitest';
import { PROBLEM_CODES } from '../../lib/gateway/problem.js';
import { EXIT } from '../../lib/cli/exit-codes.js';
import { createProgram } from '../../lib/cli/program.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { resolveOptions } from '../../lib/composition/resolve-options.js';
import { DEFAULT_CONNECTION } from '../../lib/nest/decorators/delay-queue.tokens.js';
import { DEFAULT_PARTITIONS } from '../../lib/fleet/topic-settings.interface.js';
import { referenceDocuments } from '../../scripts/setup/reference-tables.mjs';
import { commandNames } from '../support/cli/command-names.js';
import { Library, type Member, scriptNames } from '../support/docs/library.js';
import { checkedTables, DOCUMENTS, inBackticks, readDocument, section, table } from '../support/docs/markdown.js';
import { type Fact, faultsIn, type Facts } from '../support/docs/table-check.js';

const library = new Library();

/** The compiler says if one is missing, or is none. */
const CRON_OPTIONS: Readonly<Record<keyof CronOptions, Fact>> = {
  name: {},
  timeZone: {},
  utcOffset: {},
  waitForCompletion: {},
  disabled: {},
  threshold: {},
  initialDelay: {},
  unrefTimeout: {},
};

/** What tables that people write are compared with, by the name that stands above them. */
const CODE: Readonly<Record<string, Facts>> = {
  // What happens, and what to do
  DoctorCheck: namesOf(library.strings('DOCTOR_CHECKS')),
  BackgroundErrorSource: namesOf(library.strings('BackgroundErrorSource')),
  FailureReason: namesOf(library.strings('FailureReason')),
  LeftReason: namesOf(library.strings('LeftReason')),
  'gateway problems': new Map(PROBLEM_CODES.map((code) => [code, {}])),
  // What is left behind
  CronOptions: new Map(Object.entries(CRON_OPTIONS)),
  SchedulerRegistry: namesOf(publicMethods(SchedulerRegistry)),
  // What is seen from outside
  metrics: new Map(metricsOf(new Registry()).map(({ name, type, labelNames }) => [name, { type, labels: labelNames }])),
  'span attributes': namesOf([...library.constantsBeside('MESSAGING_SYSTEM_NAME')].flatMap(attributeOf)),
  log: { texts: library.texts() },
  // The command line
  commands: namesOf(commandNames()),
  'documents of commands': namesOf(commandNames()),
  'global options': namesOf(globalOptions()),
  'exit codes': namesOf(Object.values(EXIT).map(String)),
  // What is in Redis
  keys: namesOf(keysOf(new StoreKeys('dq'))),
  scripts: namesOf(scriptNames()),
  counters: namesOf([...library.strings('COUNTERS'), 'paused', 'held']),
  Failure: namesOf(library.members('Failure')),
  FailedAttempt: namesOf(library.members('FailedAttempt')),
  EncodedOptions: namesOf(library.members('EncodedOptions')),
};

const tables = DOCUMENTS.flatMap((path) => checkedTables(readDocument(path)));

describe('the tables of the documents', () => {
  it('are those that can be checked', () => {
    expect([...new Set(tables.map(({ check }) => check))].toSorted()).toEqual(Object.keys(CODE).toSorted());
  });

  it.each(Object.entries(CODE))('have what the code has: %s', (check, facts) => {
    expect(faultsIn(rowsOf(check), facts)).toEqual([]);
  });

  it('name the kinds of spans, and the system', () => {
    const text = readDocument('docs/guides/tracing.md');
    const spans = [...table(section(text, 'Spans'), 'span').keys()];
    expect(spans.map((span) => span.split(' ')[0])).toEqual(['send', 'create', 'process', 'settle']);
    const constants = library.constantsBeside('MESSAGING_SYSTEM_NAME');
    const system = cell('span attributes', constants.get('MESSAGING_SYSTEM_NAME') ?? '', 'value');
    expect(inBackticks(system)).toEqual([constants.get('SYSTEM')]);
  });

  it('name every reason why a message is dead', () => {
    const outcomes = inBackticks(readDocument('docs/reference/handling.md'));
    expect(outcomes).toEqual(expect.arrayContaining(library.strings('FailureReason')));
  });
});

describe('the tables that are made of public types', () => {
  it.each(referenceDocuments())('are up to date: $path', ({ is, shouldBe }) => {
    expect(is, '`npm run tables` makes them anew').toBe(shouldBe);
  });
});

/** What applies if an option is left out, durations in milliseconds. */
const { consumer, topicSettings, ...moduleOptions } = resolveOptions({});
const { attempts, backoff, timeout } = topicSettings('any');

describe('TSDoc', () => {
  it.each([
    ...defaultsOf('DelayQueueModuleOptions', { ...moduleOptions, name: DEFAULT_CONNECTION }),
    ...defaultsOf('TopicOptions', { partitions: DEFAULT_PARTITIONS, attempts, timeout }),
    ...defaultsOf('ConsumerOptions', { ...consumer, maxIdleWait: consumer?.heartbeat }),
  ])('says the default that applies: $type.$name', ({ said, value }) => {
    expect(said).toBe(value);
  });

  it('says how the default backoff grows', () => {
    expect(backoff).toEqual({ delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 });
    const said = library.members('TopicOptions').find(({ name }) => name === 'backoff')?.defaultValue;
    expect(said).toBe('exponential from 1 s, doubling, at most 5 min, jitter 0.2');
  });
});

describe('docs/guides/operations.md', () => {
  it('names log lines that exist', () => {
    const text = section(readDocument('docs/guides/operations.md'), 'DelayQueuePartitionUnowned');
    const parts = library.texts().flatMap((written) => written.parts);
    expect(text).toContain("`<handler> handles topic '<topic>'`");
    expect(parts).toContain(" handles topic '");
    expect(text).toContain('`Heartbeats fail`');
    expect(parts).toContain('Heartbeats fail, so that no partition moves: ');
  });
});

describe('the check of tables', () => {
  const facts = new Map([
    ['sent', { type: 'counter', labels: ['topic'] }],
    ['kept', { type: 'gauge', labels: [] }],
  ]);
  const sent = '| `sent` | counter | `topic` |';
  const kept = '| `kept` | gauge | |';

  it.each([
    { what: 'nothing', lines: [sent, kept], faults: [] },
    { what: 'a row twice', lines: [sent, kept, sent], faults: ["'sent' is there twice"] },
    { what: 'a missing row', lines: [sent], faults: ["'kept' is missing"] },
    { what: 'a row too many', lines: [sent, kept, '| `lost` | gauge | |'], faults: ["'lost' is not in the code"] },
    { what: 'another type', lines: [sent, '| `kept` | counter | |'], faults: ["type of 'kept': counter is not gauge"] },
    { what: 'other labels', lines: ['| `sent` | counter | |', kept], faults: ["labels of 'sent':  is not topic"] },
  ])('finds $what', ({ lines, faults }) => {
    const text = ['<!-- checked: planted -->', '', '| name | type | labels |', '| - | - | - |', ...lines].join('\n');
    expect(faultsIn(checkedTables(text)[0]?.rows ?? [], facts)).toEqual(faults);
  });

  it.each([
    ['log', '`Connected to Redis at host:6379`', []],
    ['log', '`Linked to Redis at host:6379`', ["nothing writes 'Linked to Redis at host:6379'"]],
    ['warn', '`Connected to Redis at host:6379`', ["level of 'Connected to Redis at host:6379': warn is not log"]],
  ])('finds a line that is not logged so: %s, %s', (level, line, faults) => {
    const text = `<!-- checked: log -->\n\n| level | line |\n| - | - |\n| \`${level}\` | ${line} |`;
    expect(faultsIn(checkedTables(text)[0]?.rows ?? [], { texts: library.texts() })).toEqual(faults);
  });
});

function rowsOf(name: string) {
  return tables.filter(({ check }) => check === name).flatMap(({ rows }) => rows);
}

function cell(check: string, name: string, column: string): string {
  return (
    rowsOf(check)
      .find(({ names }) => names.includes(name))
      ?.cells.get(column) ?? ''
  );
}

/** Of those whose default is a text, a number or a boolean. */
function defaultsOf(type: string, values: Readonly<Record<string, unknown>>) {
  return library.members(type).flatMap(({ name, defaultValue = '' }) => {
    const said = literalIn(inBackticks(defaultValue).at(-1) ?? defaultValue);
    return said === undefined || values[name] === undefined ? [] : [{ type, name, said, value: values[name] }];
  });
}

/** Durations in milliseconds. */
function literalIn(text: string): unknown {
  if (/^(true|false)$/.test(text)) return text === 'true';
  if (/^[\d.]+$/.test(text)) return Number(text);
  const [, quoted] = /^'(.*)'$/.exec(text) ?? [];
  return quoted !== undefined && /^\d/.test(quoted) ? ms(quoted as StringValue) : quoted;
}

function namesOf(members: readonly (string | Member)[]): Facts {
  return new Map(members.map((member) => [typeof member === 'string' ? member : member.name, {}]));
}

function attributeOf([constant, value]: readonly [string, string]): string[] {
  return constant === 'SYSTEM' ? [] : [value];
}

function globalOptions(): string[] {
  const { options } = createProgram();
  return [
    ...options.flatMap(({ short, flags }) => [...(short ? [short] : []), flags.replace(/^-., /, '')]),
    '-h',
    '--help',
  ];
}

/** What an application really has. */
function metricsOf(registry: Registry): { name: string; type: string; labelNames: readonly string[] }[] {
  prometheusMetrics({ registry }).open('default', async () => ({ up: true, clockOffset: 0, topics: [] }));
  return registry.getMetricsAsArray() as unknown as (Metric & ReturnType<typeof metricsOf>[number])[];
}

/** Of a class of `@nestjs/schedule`, where a private method is a method like any other. */
function publicMethods({ prototype }: { prototype: object }): string[] {
  const names = Object.getOwnPropertyNames(prototype);
  return names.filter((name) => !['constructor', 'wrapFunctionInTryCatchBlocks'].includes(name));
}

/** The names in an object that has nothing else. */
function valuesOf(names: object): string[] {
  return Object.values(names as Readonly<Record<string, string>>);
}

/** All keys and channels, of the partition and the topic that the document has. */
function keysOf(keys: StoreKeys): string[] {
  const topic = 'order.timeout';
  const partition = { topic, index: 3 };
  return [
    ...valuesOf(keys.partition(partition)),
    keys.answered(partition, '<caller>'),
    keys.answeredOfTopic(partition.topic, '<caller>'),
    keys.answeredOfFleet('<caller>'),
    keys.probe(0),
    keys.events,
    keys.audit,
    keys.audited('<id>'),
    ...valuesOf(keys.fleet),
    keys.sessionChannel('<session>'),
    keys.work(29_454_480),
    keys.history(120, 245_454),
    keys.spans,
    ...valuesOf(keys.topic(topic)),
  ];
}
