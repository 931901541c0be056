import { describe, expect, it } from 'vitest';
import { isKnownVersion, type BullmqJob } from '../../../tools/import-bullmq/bullmq-queue.js';
import { toMessage } from '../../../tools/import-bullmq/job-message.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { SerializationError } from '../../../lib/errors/publishing.errors.js';
import { backoffDelay, resolveStoredBackoff, type StoredBackoff } from '../../../lib/messages/backoff.js';
import { CORPUS } from '../../support/json-corpus/corpus.js';

const NOW = Date.UTC(2026, 0, 1);

const JOB: BullmqJob = {
  id: '7',
  key: 'bull:orders:7',
  note: undefined,
  obstacle: undefined,
  score: '0',
  timestamp: '1767225600000',
  dueAt: NOW + 1000,
  name: 'timeout',
  data: Buffer.from('{"orderId":"42"}'),
  options: '{}',
  attemptsMade: 0,
  deduplicationId: undefined,
};

const messageOf = (change: Partial<BullmqJob>, topic = 'orders') => toMessage({ ...JOB, ...change }, topic, NOW);
const retriesOf = (options: object, attemptsMade = 0) =>
  messageOf({ options: JSON.stringify(options), attemptsMade }).options;

function outcomeOf(data: Buffer): unknown {
  try {
    return JSON.stringify(messageOf({ data }).payload);
  } catch (error) {
    return (error as Error).constructor;
  }
}

describe('a job becomes a message', () => {
  it('with its data, and headers that say what it was', () => {
    expect(messageOf({})).toEqual({
      topic: 'orders',
      id: 'bull:orders:7@1767225600000',
      payload: { orderId: '42' },
      options: { headers: { 'bullmq-job': 'bull:orders:7', 'bullmq-name': 'timeout' } },
    });
  });

  it.each([
    ['the one that the application gave it', { id: 'order-42', deduplicationId: 'dd' }, 'order-42'],
    ['else the one under which it refuses others', { deduplicationId: 'dd' }, 'dd'],
    ['else its key and when it was made, since each server counts anew', {}, 'bull:orders:7@1767225600000'],
  ])('whose id is %s', (_, change, id) => {
    expect(messageOf(change).id).toBe(id);
  });

  it('of a topic that may have its name', () => {
    expect(messageOf({ name: '$&' }, 'a.b').topic).toBe('a.b');
    expect(messageOf({}, 'orders.{name}').topic).toBe('orders.timeout');
    expect(() => messageOf({ name: '$&' }, 'orders.{name}')).toThrow(/A topic must be .* Given: 'orders\.\$&'/);
  });

  it('with the data that the job has, or not at all', () => {
    const expected = CORPUS.map(({ content, kept, json }) => {
      if (kept) return JSON.stringify(JSON.parse(String(content)));
      return json ? SerializationError : InvalidArgumentError;
    });
    expect(CORPUS.map(({ content }) => outcomeOf(content))).toEqual(expected);
    expect(() => messageOf({ data: Buffer.from('[') })).toThrow('The data of the job are no JSON. It ends too early.');
    expect(() => messageOf({ data: Buffer.from('{"id":9007199254740993}') })).toThrow('data.id is 9007199254740993');
  });

  it.each(['', '[', 'nothing'])('not if its options are no JSON: %j', (options) => {
    expect(() => messageOf({ options })).toThrow('The options of the job are no JSON.');
  });

  it('not if it is due in more than 10 years', () => {
    expect(() => messageOf({ dueAt: NOW + 3653 * 86_400_000 })).toThrow('within 10 years');
  });
});

describe('retries', () => {
  it.each([
    ['none are given', {}, 0, undefined],
    ['all are left', { attempts: 3 }, 0, 3],
    ['some were made', { attempts: 3 }, 2, 1],
    ['all were made', { attempts: 3 }, 9, 1],
    ['there are too many', { attempts: 5000 }, 0, 1000],
    ['they are no number', { attempts: 'x' }, 0, undefined],
  ])('attempts, if %s', (_, options, made, attempts) => {
    expect(retriesOf(options, made).attempts).toBe(attempts);
  });

  it.each([
    ['a number', 500, 0, [500, 500, 500]],
    ['fixed', { type: 'fixed', delay: 500 }, 2, [500, 500, 500]],
    ['exponential', { type: 'exponential', delay: 500 }, 0, [500, 1000, 2000]],
    ['exponential, after two attempts', { type: 'exponential', delay: 500 }, 2, [2000, 4000, 8000]],
  ])('a backoff that is %s has the same waits', (_, backoff, made, waits) => {
    const stored = retriesOf({ backoff }, made).backoff as StoredBackoff;
    expect([1, 2, 3].map((attempt) => backoffDelay(resolveStoredBackoff('backoff', stored), attempt))).toEqual(waits);
  });

  it.each([
    ['fixed', 0.2, [800, 1000]],
    ['exponential', 0.2, [3200, 4000]],
    ['exponential', 0.5, [2000, 4000]],
    // Of those that BullMQ may draw, from 400 and from 0 on.
    ['exponential', 0.9, [2000, 4000]],
    ['fixed', 1, [500, 1000]],
  ])('a backoff that is %s is shortened by its jitter of %s', (type, jitter, bounds) => {
    const stored = retriesOf({ backoff: { type, delay: 1000, jitter } }).backoff as StoredBackoff;
    const resolved = resolveStoredBackoff('backoff', stored);
    expect([0, 1].map((random) => backoffDelay(resolved, 3, random))).toEqual(bounds);
  });

  it.each([[{ type: 'custom' }], [{ type: 'fixed', delay: -1 }], ['x'], [null]])(
    '%j is left to the topic',
    (backoff) => {
      expect(retriesOf({ backoff })).not.toHaveProperty('backoff');
    },
  );

  it('waits as long as BullMQ would, and at most 10 years', () => {
    const [once, often] = [4, 1000].map((made) => retriesOf({ backoff: { type: 'exponential', delay: 60_000 } }, made));
    expect(once).toMatchObject({ backoff: { delay: 960_000, maxDelay: 315_576_000_000 } });
    expect(often).toMatchObject({ backoff: { delay: 315_576_000_000 } });
  });
});

it.each([
  ['', true],
  ['bullmq:4.18.2', true],
  ['bullmq:6.7.0', true],
  ['bullmq:7.0.0', false],
  ['bullmq-pro:7.46.0', false],
])("the keys of '%s' are known: %s", (version, isKnown) => {
  expect(isKnownVersion(version)).toBe(isKnown);
});
