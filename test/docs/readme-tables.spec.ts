import * as api from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../lib/time/duration.js';
import { resolveOptions } from '../../lib/connection/resolve-options.js';
import { DEFAULT_PARTITIONS } from '../../lib/topics/topic-settings.interface.js';
import { inBackticks, readDocument, section, table } from './support/markdown.js';
import { filesIn, propertiesOf, readSource, stringsOf } from './support/source.js';

const readme = readDocument('README.md');
const options = section(readme, 'Options');

/** A part of the options' section that begins with this text. */
function after(text: string): string {
  const start = options.indexOf(text);
  if (start === -1) throw new Error(`The section of the options does not say '${text}'.`);
  return options.slice(start);
}

const tables = {
  MODULE_OPTIONS: table(options, 'option'),
  TOPIC_OPTIONS: table(after('`TopicOptions`, in'), 'option'),
  CONSUMER_OPTIONS: table(after('`ConsumerOptions`, in'), 'option'),
  HANDLER_OPTIONS: table(after('`HandlerOptions`, the'), 'option'),
};

describe('the options in the README', () => {
  it.each(Object.entries(tables))('are all that lib/options knows: %s', (list, rows) => {
    const file = list === 'HANDLER_OPTIONS' ? 'resolve-handler.ts' : 'resolve-options.ts';
    const known = stringsOf(`lib/options/${file}`, list);
    expect([...rows.keys()].filter((name) => name !== 'isGlobal' && name !== 'name')).toEqual(known);
  });

  it('are all that a publish takes', () => {
    const known = propertiesOf('lib/message/publish-options.interface.ts', 'PublishOptions');
    expect([...table(section(readme, 'Publishing'), 'option').keys()]).toEqual(known);
    expect(stringsOf('lib/producer/publish-request.ts', 'OPTIONS')).toEqual(known);
  });

  it('have the defaults that apply', () => {
    const { redis, prefix, publishTimeout, consumer, topicSettings } = resolveOptions({});
    expect(inBackticks(defaultOf('MODULE_OPTIONS', 'redis'))).toEqual([`'${redis as string}'`]);
    expect(inBackticks(defaultOf('MODULE_OPTIONS', 'prefix'))).toEqual([`'${prefix}'`]);
    expect(duration('MODULE_OPTIONS', 'publishTimeout')).toBe(publishTimeout);
    expect(inBackticks(defaultOf('CONSUMER_OPTIONS', 'concurrency'))).toEqual([String(consumer?.concurrency)]);
    expect(duration('CONSUMER_OPTIONS', 'lease')).toBe(consumer?.lease);
    expect(duration('CONSUMER_OPTIONS', 'shutdownTimeout')).toBe(consumer?.shutdownTimeout);
    expect(duration('CONSUMER_OPTIONS', 'maxIdleWait')).toBe(consumer?.heartbeat);
    const topic = topicSettings('any');
    expect(inBackticks(defaultOf('TOPIC_OPTIONS', 'partitions'))).toEqual([String(DEFAULT_PARTITIONS)]);
    expect(inBackticks(defaultOf('TOPIC_OPTIONS', 'attempts'))).toEqual([String(topic.attempts)]);
    expect(topic.backoff).toEqual({ delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 });
    expect(defaultOf('TOPIC_OPTIONS', 'backoff')).toBe('exponential from 1 s, doubling, at most 5 min, jitter 0.2');
    expect([topic.timeout, topic.expireAfter]).toEqual([undefined, undefined]);
    expect(topic.deadLetter).toEqual({ maxAge: undefined, maxCount: undefined });
  });

  function defaultOf(list: keyof typeof tables, option: string): string {
    return tables[list].get(option)?.[2] ?? '';
  }

  function duration(list: keyof typeof tables, option: string): number {
    return parseDuration(option, inBackticks(defaultOf(list, option))[0]?.replaceAll("'", ''));
  }
});

describe('the fields in the README', () => {
  it.each([
    { of: 'PublishedMessage', path: 'lib/message/publish-options.interface.ts', heading: 'Publishing' },
    { of: 'DelayedMessage', path: 'lib/message/delayed-message.interface.ts', heading: 'Handling' },
    { of: 'TopicCounts', path: 'lib/admin/topic-stats.ts', heading: 'Looking into a topic' },
  ])('are all of $of', ({ of, path, heading }) => {
    const named = table(section(readme, heading), 'field');
    expect([...named.keys()].toSorted()).toEqual(propertiesOf(path, of).toSorted());
  });

  it('are all of MessageDetails and its failure', () => {
    const text = section(readme, 'Looking into a topic');
    const named = table(text.slice(text.indexOf('DelayQueueAdmin.get(')), 'field');
    const properties = propertiesOf('lib/admin/message-details.ts', 'MessageDetails');
    expect([...named.keys()].toSorted()).toEqual(properties.toSorted());
    const failure = inBackticks(named.get('failure')?.[1] ?? '');
    expect(failure).toEqual(propertiesOf('lib/message/failure.ts', 'Failure'));
  });

  it('are all Observables of DelayQueueEvents', () => {
    const named = [...table(section(readme, 'Events'), 'Observable').keys()];
    expect(named).toEqual(propertiesOf('lib/events/queue-events.interface.ts', 'QueueEvents'));
  });
});

describe('the testing kit in the README', () => {
  const text = section(readme, 'Testing');

  it('has all that a harness can', () => {
    const named = [...table(text, 'method').keys()].map((signature) => signature.replace(/\(.*/, ''));
    const known = Object.getOwnPropertyNames(DelayQueueHarness.prototype).filter((name) => name !== 'constructor');
    expect(named.toSorted()).toEqual(known.toSorted());
  });

  it('has all options of a harness', () => {
    const known = propertiesOf('lib/testing/harness-options.interface.ts', 'HarnessOptions');
    expect([...table(text, 'option').keys()]).toEqual(known);
  });

  it('has all fields of a message that was published', () => {
    const path = 'lib/testing/harness-messages.interface.ts';
    const named = inBackticks(table(text, 'method').get('published(topic)')?.[1] ?? '');
    const known = [...propertiesOf(path, 'HarnessMessage'), ...propertiesOf(path, 'RecordedMessage')];
    expect(named.toSorted()).toEqual(known.toSorted());
  });
});

describe('the errors in the README', () => {
  const rows = table(section(readme, 'Errors'), 'class', 'code');

  it('are all that are exported', () => {
    const exported = Object.entries(api).filter(([, value]) => isErrorClass(value));
    expect([...rows.keys()].toSorted()).toEqual(exported.map(([name]) => name).toSorted());
  });

  it('have their codes', () => {
    const files = [...filesIn('lib/errors'), 'lib/messages/publish-many.error.ts'];
    const codes = files.flatMap((path) =>
      Array.from(
        readSource(path).matchAll(/^export class (\w+)[^]*?readonly code(?: = |: )((?:'\w+'(?: \| )?)+)/gm),
        ([, name = '', code = '']) => [name, code.replaceAll("'", '').split(' | ')] as const,
      ),
    );
    expect(codes).toHaveLength(rows.size - 1);
    for (const [name, code] of codes) expect([name, inBackticks(rows.get(name)?.[1] ?? '')]).toEqual([name, code]);
  });

  it('name every reason why a message is dead', () => {
    const [, reasons = ''] = /type FailureReason =([^;]*);/.exec(readSource('lib/message/failure.ts')) ?? [];
    const named = inBackticks(section(readme, 'Handling'));
    for (const [, reason = ''] of reasons.matchAll(/'(\w+)'/g)) expect(named).toContain(reason);
  });
});

function isErrorClass(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  return value === api.DelayQueueError || value.prototype instanceof api.DelayQueueError;
}
