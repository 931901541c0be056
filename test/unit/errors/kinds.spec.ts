import * as library from 'nestjs-delay-queue';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Copy, loadCopy } from '../../support/kit/another-copy.js';

type Library = typeof library;
type ErrorName = Extract<keyof Library, `${string}Error`>;

/** One of each class. */
const MAKE: Record<Exclude<ErrorName, 'DelayQueueError'>, (copy: Library) => Error> = {
  AuditFailedError: (copy) => new copy.AuditFailedError('{}', new Error('gone')),
  BrokerUnavailableError: (copy) => new copy.BrokerUnavailableError('gone'),
  ConfigurationError: (copy) => new copy.ConfigurationError('wrong'),
  DeliveryAbortedError: (copy) => new copy.DeliveryAbortedError('CANCELLED'),
  DuplicateMessageError: (copy) => new copy.DuplicateMessageError('jobs', '1'),
  EventsDroppedError: (copy) => new copy.EventsDroppedError(1),
  ForwardFailedError: (copy) => new copy.ForwardFailedError('gone'),
  HandlerOverrunError: (copy) => new copy.HandlerOverrunError('Orders.close', 'jobs', ['1'], 90_000, 30_000),
  HandlerTimeoutError: (copy) => new copy.HandlerTimeoutError(1),
  IntakeOvertakenError: (copy) => new copy.IntakeOvertakenError('jobs', 'stop', 'start'),
  InvalidArgumentError: (copy) => new copy.InvalidArgumentError('wrong'),
  InvalidPayloadError: (copy) => new copy.InvalidPayloadError('jobs', []),
  NoShutdownHooksError: (copy) => new copy.NoShutdownHooksError(30_000, 10_000),
  NotReplicatedError: (copy) => new copy.NotReplicatedError('jobs', '1', 0, 1, 1000),
  PayloadTooLargeError: (copy) => new copy.PayloadTooLargeError(2, 1),
  PublishManyError: (copy) => new copy.PublishManyError('jobs', []),
  PushFailedError: (copy) => new copy.PushFailedError('gone'),
  RateLimitedError: (copy) => new copy.RateLimitedError(1),
  ReceiverUnavailableError: (copy) => new copy.ReceiverUnavailableError('closed'),
  RetryLaterError: (copy) => new copy.RetryLaterError(1),
  SchemaError: (copy) => new copy.SchemaError('jobs', new Error('broken')),
  SerializationError: (copy) => new copy.SerializationError('circular'),
  TransactionRequiredError: (copy) => new copy.TransactionRequiredError('jobs', 'none'),
  UnhandledTopicError: (copy) => new copy.UnhandledTopicError('jobs', undefined, undefined),
  UnrecoverableError: (copy) => new copy.UnrecoverableError('no use'),
};

const CLASSES = Object.entries(MAKE) as [keyof typeof MAKE, (copy: Library) => Error][];

const here: Library = { ...library };
let there: Copy;

beforeAll(async () => {
  there = await loadCopy();
});

it('knows all exported errors', () => {
  const exported = Object.keys(here).filter((name) => name.endsWith('Error') && name !== 'DelayQueueError');
  expect(CLASSES.map(([name]) => name)).toEqual(exported.toSorted());
});

describe.each(CLASSES)('%s of another copy', (name, make) => {
  it('has another class', () => {
    expect(there[name]).not.toBe(here[name]);
    expect(Object.getPrototypeOf(make(there))).not.toBe(here[name].prototype);
  });

  it.each([
    ['here', 'there'],
    ['there', 'here'],
  ])('is an instance of its class and of those that it extends %s, and of no other', (one) => {
    const [mine, theirs] = one === 'here' ? [here, there] : [there, here];
    const error = make(theirs);
    expect(error).toBeInstanceOf(mine.DelayQueueError);
    const kinds = name === 'RateLimitedError' ? [name, 'RetryLaterError'] : [name];
    expect(CLASSES.map(([each]) => each).filter((each) => error instanceof mine[each])).toEqual(kinds);
  });
});

describe('a class derived by a user', () => {
  class CardDeclined extends here.UnrecoverableError {}

  it('counts as what it is derived from, in each copy', () => {
    const error = new CardDeclined('no money');
    expect(error).toBeInstanceOf(here.UnrecoverableError);
    expect(error).toBeInstanceOf(there.UnrecoverableError);
    expect(error).toBeInstanceOf(there.DelayQueueError);
    expect(error).not.toBeInstanceOf(there.RetryLaterError);
  });

  it('has only its own instances', () => {
    class NoCard extends CardDeclined {}
    class ForeignDeclined extends there.UnrecoverableError {}
    expect(new CardDeclined('1')).toBeInstanceOf(CardDeclined);
    expect(new NoCard('2')).toBeInstanceOf(CardDeclined);
    expect(new CardDeclined('3')).not.toBeInstanceOf(NoCard);
    expect(new here.UnrecoverableError('4')).not.toBeInstanceOf(CardDeclined);
    expect(new there.UnrecoverableError('5')).not.toBeInstanceOf(CardDeclined);
    expect(new ForeignDeclined('6')).not.toBeInstanceOf(CardDeclined);
  });

  it('may have a code of its own', () => {
    class Coded extends here.UnrecoverableError {}
    const error = Object.assign(new Coded('no money'), { code: 'RETRY_LATER' });
    expect(error).toBeInstanceOf(there.UnrecoverableError);
    expect(error).not.toBeInstanceOf(there.RetryLaterError);
  });
});

describe('anything but an error of the library', () => {
  it.each([
    ['an Error', new Error('plain')],
    ['an Error with such a code', Object.assign(new Error('plain'), { code: 'UNRECOVERABLE' })],
    ['undefined', undefined],
    ['null', null],
    ['a string', 'UNRECOVERABLE'],
    ['a function', () => undefined],
  ])('%s is an instance of none of its classes', (_, value) => {
    expect((value as unknown) instanceof here.DelayQueueError).toBe(false);
    expect((value as unknown) instanceof here.UnrecoverableError).toBe(false);
  });
});

it('does not show the kinds when errors are printed or compared', () => {
  const error = new here.UnrecoverableError('no use');
  expect(Object.getOwnPropertySymbols(error)).toEqual([]);
  expect(JSON.parse(JSON.stringify(error))).toEqual({ code: 'UNRECOVERABLE', name: 'UnrecoverableError' });
});
