import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ReplicaRequirement } from '../../../lib/messages/replicas.js';
import type { NewMessage, PublishResult } from '../../../lib/store/messages/publish.js';
import type { CallId } from '../../../lib/store/partition.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { PublishLane, type PublishSink } from '../../../lib/producer/publish-lane.js';

const TIMEOUT = 1000;

type Answer = (results: PublishResult[]) => void;

/** A lane to a store that answers when the test decides. */
function setUp() {
  const clock = new ManualClock();
  const calls: {
    readonly call: CallId;
    readonly ids: string[];
    readonly replicas: ReplicaRequirement | undefined;
    readonly answer: Answer;
    readonly refuse: (error: unknown) => void;
  }[] = [];
  const lane = new PublishLane({
    store: {
      publish: async (_, call, messages, terms) =>
        new Promise<PublishResult[]>((answer, refuse) => {
          calls.push({
            call,
            ids: messages.map(({ storedId }) => storedId),
            replicas: terms?.replicas,
            answer,
            refuse,
          });
        }),
    },
    clock,
    caller: 'test',
    partition: { topic: 'mails', index: 0 },
    timeout: TIMEOUT,
  });
  return { clock, calls, lane };
}

function newMessages(name: string, count: number, length = 10): NewMessage[] {
  return Array.from({ length: count }, (_, n) => ({
    storedId: `${name}${n}`,
    envelope: 'x'.repeat(length),
    due: { after: 0 },
    onDuplicate: 'reject',
  }));
}

/** The results and errors, by place. */
class Told implements PublishSink {
  readonly results = new Map<number, PublishResult>();
  readonly errors = new Map<number, unknown>();

  answered(place: number, result: PublishResult): void {
    this.#assertNew(place);
    this.results.set(place, result);
  }

  failed(place: number, error: unknown): void {
    this.#assertNew(place);
    this.errors.set(place, error);
  }

  #assertNew(place: number): void {
    if (this.results.has(place) || this.errors.has(place)) throw new Error(`Told twice of ${place}.`);
  }
}

/** A result for each, whose due times count from `from`. */
function results(count: number, from: number): PublishResult[] {
  return Array.from({ length: count }, (_, n) => ({ status: 'created', dueAt: from + n }));
}

/** The content of {@link Told} if the results are those of {@link results}, from 0. */
function inOrder(count: number): Map<number, PublishResult> {
  return new Map(results(count, 0).map((result, n) => [n, result]));
}

/** Lets time pass in which no timer fires. */
function blockFor(clock: ManualClock, milliseconds: number): void {
  const now = clock.now.bind(clock);
  clock.now = () => now() + milliseconds;
}

describe('PublishLane', () => {
  it('sends messages beyond the limit of a call in several, one after another, and reports each by its place', async () => {
    const { calls, lane } = setUp();
    const told = new Told();
    lane.publish(newMessages('a', 450), told);

    for (const [n, size] of [200, 200, 50].entries()) {
      await turn();
      expect(calls).toHaveLength(n + 1);
      expect(calls[n]?.ids).toHaveLength(size);
      expect(told.results.size).toBe(n * 200);
      calls[n]?.answer(results(size, n * 200));
    }

    await turn();
    expect(told.results.size).toBe(450);
    expect(told.results).toEqual(inOrder(450));
    expect(calls.flatMap(({ ids }) => ids)).toEqual(newMessages('a', 450).map(({ storedId }) => storedId));
  });

  it('sends long messages in several calls, and one beyond the limit of a call in a separate call', async () => {
    const { calls, lane } = setUp();
    const told = new Told();
    const KiB = 1024;
    lane.publish([...newMessages('a', 3, 200 * KiB), ...newMessages('b', 1, 700 * KiB), ...newMessages('c', 2)], told);

    const expected = [['a0', 'a1'], ['a2'], ['b0'], ['c0', 'c1']];
    let from = 0;
    for (const [n, ids] of expected.entries()) {
      await turn();
      expect(calls).toHaveLength(n + 1);
      expect(calls[n]?.ids).toEqual(ids);
      calls[n]?.answer(results(ids.length, from));
      from += ids.length;
    }
    await turn();
    expect(told.results).toEqual(inOrder(6));
  });

  it('sends publishes that come during a call together, and gives each its own result', async () => {
    const { calls, lane } = setUp();
    const told = [new Told(), new Told(), new Told(), new Told()] as const;
    lane.publish(newMessages('a', 1), told[0]);
    await turn();
    expect(calls).toHaveLength(1);
    lane.publish(newMessages('b', 1), told[1]);
    lane.publish(newMessages('c', 3), told[2]);
    lane.publish(newMessages('d', 199), told[3]);
    calls[0]?.answer(results(1, 0));
    await turn();
    expect(calls).toHaveLength(2);

    // A publish that fits into one call is not split.
    expect(calls[1]?.ids).toEqual(['b0', 'c0', 'c1', 'c2']);
    calls[1]?.answer([...results(1, 0), ...results(3, 0)]);
    await turn();
    expect(calls).toHaveLength(3);
    expect(calls[2]?.ids).toHaveLength(199);
    calls[2]?.answer(results(199, 0));
    await turn();
    expect(told[3].results).toEqual(inOrder(199));
    expect(told.slice(0, 3).map((each) => each.results)).toEqual([inOrder(1), inOrder(1), inOrder(3)]);
  });

  it('sends what has the name of an operation alone, by the same calls whenever that is done again', async () => {
    const named: (readonly [CallId, string[]])[][] = [];
    for (const before of [1, 3]) {
      const { calls, lane } = setUp();
      lane.publish(newMessages('before', before), new Told());
      lane.publish(newMessages('m', 201), new Told(), { operation: 'op' });
      lane.publish(newMessages('n', 1), new Told(), { operation: 'op' });
      lane.publish(newMessages('after', 1), new Told());
      for (let n = 0; n < 5; n++) {
        await turn();
        const call = calls[n];
        call?.answer(results(call.ids.length, 0));
      }
      expect(calls.map(({ ids }) => ids.length)).toEqual([before, 200, 1, 1, 1]);
      expect(calls[4]?.call).toEqual({ caller: 'test', sequence: 2 });
      named.push(calls.slice(1, 4).map(({ call, ids }) => [call, ids] as const));
    }
    expect(named[1]).toEqual(named[0]);
    expect(new Set(named[0]?.map(([{ caller }]) => caller)).size).toBe(3);
  });

  it('tells calls of an operation apart in which the same id comes first', async () => {
    const { calls, lane } = setUp();
    const [message] = newMessages('a', 1, 400_000) as [NewMessage];
    lane.publish([message, message, message], new Told(), { operation: 'op' });
    await turn();
    calls[0]?.answer(results(1, 0));
    await turn();
    calls[1]?.answer(results(1, 0));
    await turn();
    expect(new Set(calls.map(({ call }) => call.caller)).size).toBe(3);
  });

  it('sends together what waits for the same replicas, in the order of the publishes', async () => {
    const { calls, lane } = setUp();
    const requirements = [1, 1, 2, 1].map((min) => ({ min, timeout: 100 }));
    for (const [n, replicas] of requirements.entries())
      lane.publish(newMessages(`m${n}-`, 1), new Told(), { replicas });
    for (const [n, ids] of [['m0-0', 'm1-0'], ['m2-0'], ['m3-0']].entries()) {
      await turn();
      expect(calls[n]).toMatchObject({ ids, replicas: { min: n === 1 ? 2 : 1, timeout: 100 } });
      calls[n]?.answer(results(ids.length, 0));
    }

    await turn();
    expect(calls).toHaveLength(3);
  });

  it('fails only the refused ones, and publishes all that travelled with them', async () => {
    const { calls, lane } = setUp();
    const told = [new Told(), new Told()];
    lane.publish(newMessages('a', 5), told[0] as Told);
    lane.publish(newMessages('b', 1), told[1] as Told);
    const error = new BrokerUnavailableError('ERR', { transient: false, refused: true });
    for (let sent = 0; told[1]?.results.size === 0; sent++) {
      while (!calls[sent]) await turn();
      const { ids, answer, refuse } = calls[sent] as (typeof calls)[number];
      if (ids.includes('a2')) refuse(error);
      else answer(results(ids.length, 0));
      for (let i = 0; i < 5; i++) await turn();
    }

    expect([...(told[0]?.errors ?? [])]).toEqual([[2, error]]);
    expect([...(told[0]?.results.keys() ?? [])]).toEqual([0, 1, 3, 4]);
    expect(calls.flatMap(({ ids }) => (ids.includes('a2') ? [] : ids)).toSorted()).toEqual([
      'a0',
      'a1',
      'a3',
      'a4',
      'b0',
    ]);
  });

  it('fails all messages of a call with its error, and continues with the next', async () => {
    const { calls, lane } = setUp();
    const told = new Told();
    lane.publish(newMessages('a', 201), told);
    await turn();
    expect(calls).toHaveLength(1);
    const error = new Error('no');
    calls[0]?.refuse(error);
    await turn();
    expect(calls).toHaveLength(2);
    calls[1]?.answer(results(1, 200));

    await turn();
    expect(told.results).toEqual(new Map([[200, { status: 'created', dueAt: 200 }]]));
    expect(told.errors.size).toBe(200);
    expect(new Set(told.errors.values())).toEqual(new Set([error]));
  });

  it('fails what could not be confirmed in time, once, and never sends what was not sent', async () => {
    const { clock, calls, lane } = setUp();
    const told = new Told();
    lane.publish(newMessages('a', 300), told);
    await turn();
    expect(calls).toHaveLength(1);
    await clock.advance(TIMEOUT / 2);
    const later = new Told();
    lane.publish(newMessages('b', 2), later);
    await clock.advance(TIMEOUT / 2);

    expect(told.errors.size).toBe(300);
    expect([...told.errors.values()].every((error) => error instanceof BrokerUnavailableError)).toBe(true);
    expect(later.errors.size).toBe(0);

    calls[0]?.answer(results(200, 0));
    await turn();
    expect(calls).toHaveLength(2);
    expect(calls[1]?.ids).toEqual(['b0', 'b1']);
    calls[1]?.answer(results(2, 0));
    await turn();
    expect(later.results).toEqual(inOrder(2));
    expect(told.results.size).toBe(0);
  });

  it('gives those anew all of their time, once, for which this process itself had none', async () => {
    const { clock, calls, lane } = setUp();
    const [answered, unanswered] = [new Told(), new Told()];
    lane.publish(newMessages('a', 1), answered);
    lane.publish(newMessages('b', 200), unanswered);
    blockFor(clock, 5 * TIMEOUT);
    await clock.advance(TIMEOUT);
    expect([answered.errors.size, unanswered.errors.size]).toEqual([0, 0]);

    await clock.advance(TIMEOUT - 1);
    calls[0]?.answer(results(1, 0));
    await turn();
    expect(answered.results).toEqual(inOrder(1));
    expect([calls.length, unanswered.errors.size]).toEqual([2, 0]);
    blockFor(clock, 5 * TIMEOUT);
    await clock.advance(1);
    expect(unanswered.errors.size).toBe(200);
  });
});
