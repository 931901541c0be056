import { type CronOptions, SchedulerRegistry } from '@nestjs/schedule';
import ms from 'ms';
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
import { commandNames } from '../support/cli/command-names.js';
import { Library, type Member, scriptNames } from '../support/docs/library.js';
import { checkedTables, DOCUMENTS, inBackticks, readDocument, section, table } from '../support/docs/markdown.js';
import { type Fact, faultsIn, type Facts } from '../support/docs/table-check.js';

const library = new Library();
const { consumer, topicSettings, ...moduleOptions } = resolveOptions({});
const { attempts, backoff, timeout } = topicSettings('any');

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

/** What tables are compared with, by the name that stands above them. */
const CODE: Readonly<Record<string, Facts>> = {
  // Options
  PublishOptions: optionsOf('PublishOptions'),
  DelayQueueModuleOptions: optionsOf('DelayQueueModuleOptions', { ...moduleOptions, name: DEFAULT_CONNECTION }),
  TopicOptions: optionsOf('TopicOptions', { partitions: DEFAULT_PARTITIONS, attempts, timeout }),
  ConsumerOptions: optionsOf('ConsumerOptions', { ...consumer, maxIdleWait: consumer?.heartbeat }),
  HandlerOptions: optionsOf('HandlerOptions'),
  RequeueOptions: optionsOf('RequeueOptions'),
  DeadLetterFilter: optionsOf('DeadLetterFilter'),
  AgendaOptions: optionsOf('AgendaOptions'),
  MessageFilter: optionsOf('MessageFilter'),
  SearchOptions: optionsOf('SearchOptions'),
  CancelManyOptions: optionsOf('CancelManyOptions'),
  DelayQueueDashboardOptions: optionsOf('DelayQueueDashboardOptions'),
  ForwardOptions: optionsOf('ForwardOptions'),
  PushOptions: optionsOf('PushOptions'),
  DelayQueueGatewayOptions: optionsOf('DelayQueueGatewayOptions'),
  DashboardUser: optionsOf('DashboardUser'),
  DelayQueueIndicatorOptions: optionsOf('DelayQueueIndicatorOptions'),
  OpenTelemetryOptions: optionsOf('OpenTelemetryOptions'),
  PrometheusMetricsOptions: optionsOf('PrometheusMetricsOptions'),
  HarnessOptions: optionsOf('HarnessOptions'),
  // What callers and handlers get
  PublishedMessage: namesOf(library.members('PublishedMessage')),
  CancelResult: namesOf(library.strings('CancelResult')),
  RescheduleResult: namesOf(library.strings('RescheduleResult')),
  DelayedMessage: namesOf(library.members('DelayedMessage')),
  TopicCounts: namesOf(library.members('TopicCounts')),
  TopicCounters: namesOf(library.members('TopicCounters')),
  AuditEntry: namesOf(library.members('AuditEntry')),
  ExplainCause: namesOf(library.strings('EXPLAIN_CAUSES')),
  ExplainFacts: namesOf(library.members('ExplainFacts')),
  FleetProcess: namesOf(library.members('FleetProcess')),
  FleetReceiver: namesOf(library.members('FleetReceiver')),
  WorkMinute: namesOf(library.members('WorkMinute')),
  DoctorCheck: namesOf(library.strings('DOCTOR_CHECKS')),
  MessageDetails: namesOf(library.members('MessageDetails')),
  TopicHealth: namesOf(library.members('TopicHealth')),
  HealthStatus: namesOf(library.strings('HealthStatus')),
  QueueEvents: namesOf(library.members('QueueEvents')),
  BackgroundErrorSource: namesOf(library.strings('BackgroundErrorSource')),
  FailureReason: namesOf(library.strings('FailureReason')),
  LeftReason: namesOf(library.strings('LeftReason')),
  errors: new Map(library.errors('DelayQueueError').map(({ name, values }) => [name, codeOf(values)])),
  'gateway problems': new Map(PROBLEM_CODES.map((code) => [code, {}])),
  // Methods
  DelayQueueAdmin: namesOf(library.members('DelayQueueAdmin')),
  harness: namesOf(library.members('DelayQueueHarness')),
  // What is left behind
  CronOptions: new Map(Object.entries(CRON_OPTIONS)),
  SchedulerRegistry: namesOf(publicMethods(SchedulerRegistry)),
  // What is seen from outside
  metrics: new Map(metricsOf(new Registry()).map(({ name, type, labelNames }) => [name, { type, labels: labelNames }])),
  HandleOutcome: namesOf(library.strings('HandleOutcome')),
  PublishOutcome: namesOf(library.strings('PublishOutcome')),
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

  it('say how the default backoff grows', () => {
    expect(backoff).toEqual({ delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 });
    expect(cell('TopicOptions', 'backoff', 'default')).toBe(
      'exponential from 1 s, doubling, at most 5 min, jitter 0.2',
    );
  });

  it('name all fields of what is in a cell', () => {
    const failure = inBackticks(cell('MessageDetails', 'failure', 'meaning'));
    expect(failure).toEqual(library.members('Failure').map(({ name }) => name));
    const published = inBackticks(cell('harness', 'published', 'what it does'));
    expect(published.toSorted()).toEqual(
      library
        .members('RecordedMessage')
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  it.each([...rowsOf('DelayQueueModuleOptions')].flatMap(({ names }) => names))(
    'have an option of the module: %s',
    (name) => {
      expect(() => resolveOptions({ [name]: undefined })).not.toThrow();
    },
  );

  it.each(rowsOf('TopicOptions').flatMap(({ names }) => names))('have an option of a topic: %s', (name) => {
    expect(() => resolveOptions({ defaults: { [name]: undefined } })).not.toThrow();
    expect(() => resolveOptions({ defaults: { [`${name}s`]: undefined } })).toThrow(`${name}s`);
  });

  it.each(rowsOf('ConsumerOptions').flatMap(({ names }) => names))('have an option of the consumer: %s', (name) => {
    expect(() => resolveOptions({ consumer: { [name]: undefined } })).not.toThrow();
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
  const facts = optionsOf('ConsumerOptions', { ...consumer, maxIdleWait: consumer?.heartbeat });
  const rows = ['concurrency', 'lease', 'autoStart', 'shutdownTimeout', 'maxIdleWait'];
  const row: Readonly<Record<string, string>> = {
    concurrency: '| `concurrency` | `100` |',
    lease: "| `lease` | `'30s'` |",
    autoStart: '| `autoStart` | `true` |',
    shutdownTimeout: "| `shutdownTimeout` | `'10s'` |",
    maxIdleWait: "| `maxIdleWait` | `'5s'` |",
  };

  it.each([
    { what: 'nothing', lines: rows.map((name) => row[name]), faults: [] },
    { what: 'a row twice', lines: ['lease', ...rows].map((name) => row[name]), faults: ["'lease' is there twice"] },
    { what: 'a missing row', lines: rows.slice(1).map((name) => row[name]), faults: ["'concurrency' is missing"] },
    {
      what: 'a row too many',
      lines: [...rows.map((name) => row[name]), '| `linger` | `0` |'],
      faults: ["'linger' is not in the code"],
    },
    {
      what: 'another default',
      lines: rows.map((name) => row[name]?.replace("'10s'", "'20s'")),
      faults: ["default of 'shutdownTimeout': '20s' is not '10s'"],
    },
  ])('finds $what', ({ lines, faults }) => {
    const text = ['<!-- checked: planted -->', '', '| option | default |', '| - | - |', ...lines].join('\n');
    expect(faultsIn(checkedTables(text)[0]?.rows ?? [], facts)).toEqual(faults);
  });

  it('finds a default of the code that its TSDoc does not say', () => {
    const other = optionsOf('ConsumerOptions', { ...consumer, lease: ms('20s') });
    expect(faultsIn(rowsOf('ConsumerOptions'), other)).toEqual(["default of 'lease': '30s' is not 20000"]);
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

function namesOf(members: readonly (string | Member)[]): Facts {
  return new Map(members.map((member) => [typeof member === 'string' ? member : member.name, {}]));
}

/** @param values the values that apply if an option is left out, as far as they are known */
function optionsOf(type: string, values: Readonly<Record<string, unknown>> = {}): Facts {
  return new Map(
    library.members(type).map(({ name, defaultValue }) => [name, { default: defaultValue, value: values[name] }]),
  );
}

function codeOf(values: readonly string[]): { code?: readonly string[] } {
  // The compiler lists them in any order.
  return values.length === 0 ? {} : { code: values.toSorted() };
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
