import * as library from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../lib/http/refusal.js';
import { PROBLEMS, problemAnswer, refusal, toProblem } from '../../../lib/gateway/problem.js';

const {
  BrokerUnavailableError,
  ConfigurationError,
  DuplicateMessageError,
  ReceiverUnavailableError,
  InvalidArgumentError,
} = library;
const {
  InvalidPayloadError,
  NotReplicatedError,
  PayloadTooLargeError,
  SchemaError,
  SerializationError,
  UnhandledTopicError,
} = library;

describe('toProblem()', () => {
  it.each<[Error, number, string]>([
    [new InvalidArgumentError('x'), 400, 'INVALID_ARGUMENT'],
    [new SerializationError('x'), 400, 'SERIALIZATION'],
    [new InvalidPayloadError('jobs', [{ message: 'no' }]), 400, 'INVALID_PAYLOAD'],
    [new DuplicateMessageError('jobs', '1'), 409, 'DUPLICATE_MESSAGE'],
    [new ConfigurationError('x'), 409, 'CONFIGURATION'],
    [new PayloadTooLargeError(2, 1), 413, 'PAYLOAD_TOO_LARGE'],
    [new NotReplicatedError('jobs', '1', 0, 1, 5), 503, 'NOT_REPLICATED'],
    [new BrokerUnavailableError('10.0.0.7:6379 is away'), 503, 'BROKER_UNAVAILABLE'],
    [new ReceiverUnavailableError('x'), 503, 'RECEIVER_UNAVAILABLE'],
    [new SchemaError('jobs', 'x'), 500, 'INTERNAL'],
    [new UnhandledTopicError('jobs', undefined, undefined), 500, 'INTERNAL'],
    [new Error('password'), 500, 'INTERNAL'],
    [new Refusal(418, 'TEAPOT', 'x'), 500, 'INTERNAL'],
    [refusal('FORBIDDEN', 'x'), 403, 'FORBIDDEN'],
  ])('tells %o', (error, status, code) => {
    const problem = toProblem(error);
    expect(problem).toMatchObject({
      status,
      code,
      type: expect.stringMatching(/^urn:nestjs-delay-queue:problem:[a-z-]+$/),
    });
    expect(problem.detail).not.toMatch(/password|10\.0\.0\.7/);
  });

  it('says what a schema has found', () => {
    expect(toProblem(new InvalidPayloadError('jobs', [{ message: 'no', path: ['a', 0] }])).issues).toEqual([
      { message: 'no', path: 'a[0]' },
    ]);
  });

  it('says when to come again', () => {
    for (const code of ['TOO_MANY_WAITING', 'BROKER_UNAVAILABLE', 'RECEIVER_UNAVAILABLE'] as const) {
      const error = refusal(code, 'x');
      expect(problemAnswer(toProblem(error), error)).toMatchObject({
        status: PROBLEMS[code].status,
        headers: { 'retry-after': '1' },
      });
    }
  });
});
