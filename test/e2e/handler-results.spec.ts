import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler } from 'nestjs-delay-queue';
import { EMPTY, type Observable, Subject, map, of, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

/** Topics have the name of what their handler returns. */
@Injectable()
class Results {
  readonly subject = new Subject<number>();
  readonly seen: string[] = [];

  @DelayedHandler('nothing')
  nothing(): void {
    this.seen.push('nothing');
  }

  @DelayedHandler('value')
  value(): number {
    return 42;
  }

  @DelayedHandler('false')
  false(): boolean {
    return false;
  }

  @DelayedHandler('promise')
  async promise(): Promise<string> {
    await Promise.resolve();
    return 'done';
  }

  @DelayedHandler('throws')
  throws(_payload: unknown, { attempt }: DelayedMessage): void {
    if (attempt === 1) throw new Error('sync');
  }

  @DelayedHandler('rejects')
  async rejects(_payload: unknown, { attempt }: DelayedMessage): Promise<void> {
    if (attempt === 1) throw new Error('async');
  }

  @DelayedHandler('observable')
  observable(): Observable<number> {
    return of(1, 2, 3);
  }

  @DelayedHandler('empty-observable')
  emptyObservable(): Observable<never> {
    return EMPTY;
  }

  @DelayedHandler('late-observable')
  lateObservable(): Observable<string> {
    return timer(20).pipe(map(() => 'late'));
  }

  @DelayedHandler('open-observable')
  openObservable(): Observable<number> {
    return this.subject;
  }

  @DelayedHandler('failing-observable')
  failingObservable(_payload: unknown, { attempt }: DelayedMessage): Observable<number> {
    return attempt === 1 ? throwError(() => new Error('rx')) : of(1);
  }
}

const bed = useBed();

async function start() {
  const app = await bed.start({
    providers: [Results],
    options: { defaults: { partitions: 1, backoff: { type: 'fixed', delay: 5 } } },
  });
  return { producer: app.producer, events: app.events, results: app.get(Results) };
}

describe('a handler acknowledges its message', () => {
  it.each([
    { how: 'by returning nothing', topic: 'nothing' },
    { how: 'by returning a value', topic: 'value' },
    { how: 'by returning false', topic: 'false' },
    { how: 'by a promise that resolves', topic: 'promise' },
    { how: 'by an Observable that completes after some values', topic: 'observable' },
    { how: 'by an Observable that completes without a value', topic: 'empty-observable' },
    { how: 'by an Observable that completes later', topic: 'late-observable' },
  ])('$how', async ({ topic }) => {
    const { producer, events } = await start();
    await producer.publish(topic, null, { id: 'a' });
    expect(await events.acked.first()).toMatchObject({ topic, id: 'a', attempt: 1 });
    expect(await bed.partition(topic).envelope('a')).toBeUndefined();
    expect(events.retried.past).toEqual([]);
  });

  it('not before its Observable has completed', async () => {
    const { producer, events, results } = await start();
    await producer.publish('open-observable', null, { id: 'a' });
    await eventually(() => expect(results.subject.observed).toBe(true));
    results.subject.next(1);
    await producer.publish('nothing', null, { id: 'b' });
    await events.acked.first(({ id }) => id === 'b');
    expect(await bed.partition('open-observable').inFlight()).toEqual(['a']);
    results.subject.complete();
    await events.acked.first(({ id }) => id === 'a');
  });
});

describe('a handler fails its attempt', () => {
  it.each([
    { how: 'by throwing', topic: 'throws', error: 'sync' },
    { how: 'by a promise that rejects', topic: 'rejects', error: 'async' },
    { how: 'by an Observable that fails at once', topic: 'failing-observable', error: 'rx' },
  ])('$how', async ({ topic, error }) => {
    const { producer, events } = await start();
    await producer.publish(topic, null, { id: 'a' });
    expect(await events.retried.first()).toMatchObject({ topic, id: 'a', attempt: 1, error: new Error(error) });
    expect(await events.acked.first()).toMatchObject({ topic, id: 'a', attempt: 2 });
  });

  it('by an Observable that fails after a value', async () => {
    const { producer, events, results } = await start();
    await producer.publish('open-observable', null, { id: 'a' });
    await eventually(() => expect(results.subject.observed).toBe(true));
    results.subject.next(1);
    results.subject.error(new Error('broken'));
    expect(await events.retried.first()).toMatchObject({ attempt: 1, error: new Error('broken') });
  });
});
