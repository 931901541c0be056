import { describe, expect, it } from 'vitest';
import { PublishBody, RescheduleBody, ScheduleBody } from '../../../lib/gateway/request-schemas.js';

describe('the body of a publish', () => {
  it('is passed on as it was given, but for times', () => {
    const deliverAt = { local: '2030-01-01T00:00', timeZone: 'UTC' };
    const message = { payload: null, backoff: { type: 'fixed', delay: '1s' }, delay: '1m', headers: { a: 'b' } };
    expect(PublishBody('The body', message)).toEqual(message);
    expect(PublishBody('The body', { payload: 1, deliverAt })).toEqual({ payload: 1, deliverAt });
    expect(PublishBody('The body', { messages: [{ payload: 1, deliverAt: '2030-01-01T00:00:00Z' }] })).toEqual({
      messages: [{ payload: 1, deliverAt: 1_893_456_000_000 }],
    });
  });

  it.each<[unknown, string]>([
    [null, 'The body must be an object. Given: null.'],
    [{}, 'payload is missing.'],
    [{ payload: 1, jobId: 'x' }, "There is no option 'jobId' in the body. Here it is 'id'."],
    [{ payload: 1, messages: [] }, "There is no option 'payload' in the body. Known options: messages."],
    [{ messages: [] }, 'messages must be a list of 1 to 1000 messages. Given: a list of 0.'],
    [{ messages: [{ payload: 1 }, { id: 'x' }] }, 'messages[1].payload is missing.'],
    [{ messages: [{ payload: 1, tags: [1] }] }, 'messages[0].tags[0] must be a string of 1 to 128 characters'],
    [{ messages: [{ payload: 1, backoff: { type: 'x' } }] }, "messages[0].backoff.type must be one of 'fixed', "],
    [{ payload: 1, deliverAt: '2030-02-30T00:00:00Z' }, 'deliverAt must be ISO 8601 with its zone, such as '],
    [{ payload: 1, deliverAt: [] }, 'or epoch milliseconds, or { local, timeZone }. Given: [].'],
  ])('is refused: %j', (body, fault) => {
    expect(() => PublishBody('The body', body as object)).toThrow(fault);
  });
});

describe('other bodies', () => {
  it('reschedule by one of two options', () => {
    expect(RescheduleBody('The body', { deliverAt: '1970-01-01T00:00:01Z' })).toEqual({ deliverAt: 1000 });
    expect(() => RescheduleBody('The body', { delay: 1, deliverAt: 1 })).toThrow("no option 'delay' in the body");
    expect(() => RescheduleBody('The body', {})).toThrow('delay must be a duration');
  });

  it('have no local time where a schedule begins', () => {
    const startAt = { local: '2030-01-01T00:00', timeZone: 'UTC' };
    const body = { topic: 'a', payload: 1, every: '1h' };
    expect(() => ScheduleBody('The body', { ...body, startAt })).toThrow(/^startAt must be ISO.* milliseconds\. Given/);
    expect(ScheduleBody('The body', { ...body, endAt: '1970-01-01T00:00:01Z' })).toEqual({ ...body, endAt: 1000 });
    expect(() => ScheduleBody('The body', { ...body, options: { id: 'x' } })).toThrow("no option 'id' in options");
  });
});
