import { describe, expect, it } from 'vitest';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import { DuplicateMessageError } from '../../../lib/errors/duplicate-message.error.js';
import { InvalidPayloadError } from '../../../lib/errors/invalid-payload.error.js';
import { PublishManyError } from '../../../lib/errors/publish-many.error.js';
import type { PublishedMessage } from '../../../lib/message/publish-options.interface.js';
import { publishCounter } from '../../../lib/metrics/publish-counter.js';

const OUTGOING = { topic: 'jobs', payload: 1, options: {}, headers: {} };

function published(id: string, duplicate = false): PublishedMessage {
  return { id, topic: 'jobs', partition: 0, dueAt: new Date(0), duplicate };
}

/** What is counted of a call with so many messages that ends like this. */
async function counted(count: number, next: () => Promise<PublishedMessage[]>) {
  const counts: string[] = [];
  const counter = publishCounter({ countPublished: (topic, outcome) => counts.push(`${topic} ${outcome}`) });
  const result = counter.publish?.(
    Array.from({ length: count }, () => OUTGOING),
    next,
  );
  return {
    counts,
    error: await result?.then(
      () => undefined,
      (error: unknown) => error,
    ),
    result,
  };
}

describe('publishCounter', () => {
  it('counts new messages, and those whose id existed', async () => {
    const messages = [published('a'), published('b', true), published('c')];
    const { counts, result } = await counted(3, async () => messages);
    expect(counts).toEqual(['jobs created', 'jobs duplicate', 'jobs created']);
    expect(await result).toBe(messages);
  });

  it.each([
    ['refused', new DuplicateMessageError('jobs', 'a')],
    ['refused', new InvalidPayloadError('jobs', [])],
    ['failed', new BrokerUnavailableError('out of reach')],
    ['failed', new TypeError('of a middleware')],
  ])('counts each message of a call that throws as %s, and passes the error on: %s', async (outcome, thrown) => {
    const { counts, error } = await counted(2, async () => Promise.reject(thrown));
    expect(counts).toEqual([`jobs ${outcome}`, `jobs ${outcome}`]);
    expect(error).toBe(thrown);
  });

  it('counts the messages of publishMany() one by one', async () => {
    const thrown = new PublishManyError('jobs', [
      { status: 'fulfilled', value: published('a') },
      { status: 'rejected', reason: new DuplicateMessageError('jobs', 'b') },
      { status: 'rejected', reason: new BrokerUnavailableError('out of reach') },
      { status: 'fulfilled', value: published('d', true) },
    ]);
    const { counts, error } = await counted(4, async () => Promise.reject(thrown));
    expect(counts).toEqual(['jobs created', 'jobs refused', 'jobs failed', 'jobs duplicate']);
    expect(error).toBe(thrown);
  });
});
