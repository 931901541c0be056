import { Injectable, Module, Scope } from '@nestjs/common';
import { type DeadLetter, DelayedHandler, DelayQueueAdmin, OnDeadLetter, UnrecoverableError } from 'nestjs-delay-queue';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

@Injectable()
class Payments {
  readonly letters: DeadLetter[] = [];
  readonly seen: string[] = [];
  respond: (letter: DeadLetter) => unknown = () => undefined;

  @DelayedHandler('payments', { attempts: 3, backoff: { type: 'fixed', delay: 1 } })
  collect(payload: { fatal?: boolean }): void {
    throw payload.fatal ? new UnrecoverableError('no account') : new RangeError('declined');
  }

  @DelayedHandler('refunds', { attempts: 1 })
  refund(): void {
    throw new Error('never');
  }

  @OnDeadLetter('payments')
  async onDeadLetter(letter: DeadLetter): Promise<void> {
    this.letters.push(letter);
    await this.respond(letter);
  }

  @OnDeadLetter('payments')
  @OnDeadLetter('refunds')
  onAny({ topic, id }: DeadLetter): unknown {
    this.seen.push(`${topic} ${id}`);
    return of(1, 2);
  }
}

async function start(shutdownTimeout = '5s') {
  const app = await bed.start({
    providers: [Payments],
    options: { defaults: { partitions: 2 }, consumer: { shutdownTimeout } },
  });
  return { app, payments: app.get(Payments), admin: app.get(DelayQueueAdmin) };
}

describe('@OnDeadLetter', () => {
  it('is called with the whole dead letter, once it is stored as one', async () => {
    const { app, payments, admin } = await start();
    let state: string | undefined;
    payments.respond = async ({ id, key }) => {
      state = (await admin.get('payments', { id, key }))?.state;
    };
    await app.producer.publish('payments', { amount: 5 }, { id: 'a', key: 'customer-7', headers: { trace: 't' } });
    await eventually(() => expect(state).toBe('dead'));

    const stored = await admin.get('payments', 'a');
    const [letter] = payments.letters;
    expect(letter).toEqual({
      id: 'a',
      key: 'customer-7',
      topic: 'payments',
      partition: stored?.partition,
      payload: { amount: 5 },
      headers: { trace: 't' },
      failure: stored?.failure,
      attempts: 3,
      history: stored?.history,
      diedAt: stored?.at,
      raw: stored?.raw,
    });
    expect(letter?.failure).toMatchObject({ reason: 'failed', name: 'RangeError', message: 'declined' });
    expect(letter?.history.map(({ attempt, name }) => `${attempt} ${name}`)).toEqual([
      '3 RangeError',
      '2 RangeError',
      '1 RangeError',
    ]);
    expect(payments.letters).toHaveLength(1);
  });

  it('is called for each of its topics, and each hook of a topic is called', async () => {
    const { app, payments } = await start();
    await app.producer.publish('payments', { fatal: true }, { id: 'a' });
    await app.producer.publish('refunds', 1, { id: 'b' });
    await eventually(() => expect(payments.seen.toSorted()).toEqual(['payments a', 'refunds b']));
    expect(payments.letters.map(({ id, attempts, failure }) => [id, attempts, failure.reason])).toEqual([
      ['a', 1, 'unrecoverable'],
    ]);
  });

  it('that throws is logged, and changes nothing', async () => {
    const { app, payments, admin } = await start();
    payments.respond = () => {
      throw new Error('no mail server');
    };
    await app.producer.publish('payments', { fatal: true }, { id: 'a' });
    await eventually(() => expect(app.logs.errors.join('\n')).toContain('Payments.onDeadLetter failed'));
    expect(payments.seen).toEqual(['payments a']);
    expect(await admin.get('payments', 'a')).toMatchObject({ state: 'dead' });
  });

  it('runs for at most 10 dead letters at once, and eventually for all', async () => {
    const { app, payments } = await start();
    let [running, most] = [0, 0];
    payments.respond = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
    };
    await app.producer.publishMany(
      'payments',
      Array.from({ length: 60 }, (_, i) => ({ payload: { fatal: true }, options: { id: `m-${i}` } })),
    );
    await eventually(() => expect(payments.letters).toHaveLength(60));
    expect(most).toBeLessThanOrEqual(10);
    expect(most).toBeGreaterThan(1);
  });

  it('is waited for at a shutdown', async () => {
    const { app, payments } = await start();
    let ended = false;
    payments.respond = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      ended = true;
    };
    await app.producer.publish('payments', { fatal: true });
    await eventually(() => expect(payments.letters).toHaveLength(1));
    await app.close();
    expect(ended).toBe(true);
  });

  it('is waited for no longer than shutdownTimeout', async () => {
    const { app, payments } = await start('200ms');
    payments.respond = () => new Promise(() => {});
    await app.producer.publish('payments', { fatal: true });
    await eventually(() => expect(payments.letters).toHaveLength(1));
    const begin = performance.now();
    await app.close();
    expect(performance.now() - begin).toBeGreaterThan(150);
    expect(app.logs.warnings.join('\n')).toContain('The hooks of 1 dead letter have not ended');
  });

  it('causes a warning for a topic that this process does not handle', async () => {
    @Injectable()
    class Lonely {
      @OnDeadLetter('elsewhere')
      onDeadLetter(): void {}
    }
    const app = await bed.start({ providers: [Payments, Lonely] });
    expect(app.logs.warnings.join('\n')).toContain('Lonely.onDeadLetter will never be called');
  });

  it('fails the boot if it cannot work', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnDeadLetter('payments')
      onDeadLetter(): void {}
    }
    @Injectable()
    class Misspelt {
      @OnDeadLetter('no topic')
      onDeadLetter(): void {}
    }
    @Injectable()
    class Misplaced {
      @OnDeadLetter('payments', { connection: 'billing' })
      onDeadLetter(): void {}
    }
    @Module({})
    class Nothing {}
    const boot = (hook: new () => object) => bed.failingBoot({ imports: [Nothing], providers: [Payments, hook] });

    expect((await boot(Scoped)).message).toMatch(/@OnDeadLetter on Scoped\.onDeadLetter.*request-scoped/s);
    expect((await boot(Misspelt)).message).toMatch(/@OnDeadLetter on Misspelt\.onDeadLetter.*topic/s);
    expect((await boot(Misplaced)).message).toMatch(/@OnDeadLetter on Misplaced\.onDeadLetter.*'billing'/s);
  });
});
