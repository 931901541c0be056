import { Injectable } from '@nestjs/common';
import {
  ConfigurationError,
  DelayQueueHealth,
  DelayQueueReceiver,
  DelayedHandler,
  InvalidArgumentError,
  OnDeadLetter,
  type DeadLetter,
  type DelayQueueModuleOptions,
  type PushOptions,
} from 'nestjs-delay-queue';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PUSHED, SECRET } from '../support/app/pushing.js';
import { type Setup, start as startKit, useKitBed } from '../support/kit/kit-bed.js';
import { PushReceiver } from '../support/servers/push-receiver.js';
import { eventually } from '../support/waiting.js';

useKitBed();

/** An application that pushes a topic to a receiver of the test's own, and retries after a minute. */
async function start({ push, options, ...setup }: Setup & { push?: Partial<PushOptions> } = {}) {
  const receiver = await PushReceiver.start();
  onTestFinished(async () => receiver.stop());
  const topics: DelayQueueModuleOptions['topics'] = {
    [PUSHED]: {
      backoff: { type: 'fixed', delay: '1m' },
      push: { url: receiver.url, secret: SECRET, allowPrivate: true, ...push },
    },
  };
  const bed = await startKit({ patience: '1m', options: { ...options, topics }, ...setup });
  return { ...bed, receiver, acked: bed.tape('acked') };
}

describe('a pushed message', () => {
  it('is a request with what is known of it, signed with every secret, and is acknowledged by a status from 200 to 299', async () => {
    const next = `whsec_${Buffer.alloc(24, 'the next secret').toString('base64')}`;
    const push = { secret: [next, SECRET], headers: { Authorization: 'Bearer of-the-receiver' } };
    const { harness, producer, admin, receiver, acked } = await start({ push });
    const payload = { order: 42, text: 'grüße, 世界 \u2028 "' };
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = { tenant: 'Ümläut % 1', 'a b': '1', traceparent };
    const { dueAt } = await producer.publish(PUSHED, payload, { id: 'ordé/42', key: 'k', headers });
    await harness.settle();

    const [{ body, headers: sent } = { body: '', headers: {} }] = receiver.requests;
    expect(JSON.parse(body)).toEqual(payload);
    for (const secret of [SECRET, next]) expect(new Webhook(secret).verify(body, sent)).toEqual(payload);
    const other = new Webhook(Buffer.alloc(32, 1).toString('base64'));
    expect(() => other.verify(body, sent)).toThrow('No matching signature');
    expect(sent).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      authorization: 'Bearer of-the-receiver',
      'webhook-id': expect.stringMatching(/^msg_[\w-]{32}$/) as string,
      'delay-queue-topic': PUSHED,
      'delay-queue-id': 'ord%C3%A9/42',
      'delay-queue-key': 'k',
      'delay-queue-attempt': '1',
      'delay-queue-due-at': dueAt.toISOString(),
      'delay-queue-header-tenant': '%C3%9Cml%C3%A4ut %25 1',
      'delay-queue-header-a%20b': '1',
      traceparent,
    });
    expect(acked).toHaveLength(1);
    expect(await admin.get(PUSHED, { id: 'ordé/42', key: 'k' })).toBeUndefined();
  });

  it('comes when it is due, again after a failure and a put-off, always with the same id, and with another one if it is published anew', async () => {
    const { harness, producer, receiver, acked } = await start();
    receiver.answer = (response, _, n) => {
      if (n === 1) response.writeHead(500).end();
      else if (n === 2) response.writeHead(429, { 'retry-after': '1800' }).end();
      else response.writeHead(200).end();
    };
    await producer.publish(PUSHED, 1, { id: 'a', delay: '30m' });
    for (const [time, requests] of [
      ['29m', 0],
      ['1m', 1],
      ['1m', 2],
      ['29m', 2],
      ['1m', 3],
    ] as const) {
      await harness.advance(time);
      expect(receiver.requests).toHaveLength(requests);
    }
    await producer.publish(PUSHED, 1, { id: 'a' });
    await harness.settle();

    expect(acked).toMatchObject([{ attempt: 2 }, { attempt: 1 }]);
    expect(receiver.requests.map(({ headers }) => headers['delay-queue-attempt'])).toEqual(['1', '2', '2', '1']);
    const [first, ...others] = receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(others).toEqual([first, first, expect.not.stringMatching(`^${first}$`)]);
  });

  it('goes over a connection that was used before, also after the server has closed it, until the application closes', async () => {
    const { app, harness, producer, receiver, acked } = await start({ push: { concurrency: 1 } });
    for (let i = 0; i < 5; i++) await producer.publish(PUSHED, i);
    await harness.settle();
    expect([receiver.requests.length, receiver.connections]).toEqual([5, 1]);
    // It ends the connection when the next request is on its way.
    receiver.answer = (response, _, n) => (n === 6 ? response.destroy() : response.writeHead(200).end());
    await producer.publish(PUSHED, 5);
    await harness.settle();
    expect([receiver.requests.length, receiver.connections]).toEqual([7, 2]);
    await producer.publish(PUSHED, 6);
    await harness.settle();
    expect(acked.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    await eventually(() => expect(receiver.open).toBe(1));
    await app.close();
    // By itself it would be closed after 15 s.
    await eventually(() => expect(receiver.open).toBe(0), 10_000);
  });

  it('is handled as by a method: its health, its log and its hooks are the same', async () => {
    @Injectable()
    class Hooks {
      readonly told: DeadLetter[] = [];
      @OnDeadLetter(PUSHED)
      onDead(letter: DeadLetter): void {
        this.told.push(letter);
      }
    }
    const { app, producer, receiver, logs } = await start({ providers: [Hooks] });
    receiver.answer = (response) => response.writeHead(410).end('moved away');
    await producer.publish(PUSHED, 1, { id: 'a' });
    await eventually(() =>
      expect(app.get(Hooks).told).toMatchObject([{ id: 'a', failure: { reason: 'unrecoverable' } }]),
    );
    const { topics } = await app.get(DelayQueueHealth).check();
    expect(topics.map(({ topic }) => topic)).toContain(PUSHED);
    expect(logs.lines.join('\n')).toContain(`push to http://127.0.0.1:${receiver.port} handles topic '${PUSHED}'`);
    expect(logs.lines.join('\n')).not.toContain('in-the-query');
  });
});

describe('a topic that is pushed', () => {
  it('has no method that handles it as well', async () => {
    @Injectable()
    class Orders {
      @DelayedHandler(PUSHED)
      work(): void {}
    }
    const error: unknown = await start({ providers: [Orders] }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain(`Topic '${PUSHED}' has topics['${PUSHED}'].push, and Orders.work handles it`);
  });

  it('is not received from in the same process', async () => {
    const { app } = await start();
    const receiving = app.get(DelayQueueReceiver).receive(PUSHED);
    await expect(receiving).rejects.toThrow(InvalidArgumentError);
    await expect(receiving).rejects.toThrow('is handled, pushed or forwarded by this process');
  });

  it('is not pushed by a process that only publishes, which says so', async () => {
    const { harness, producer, receiver, logs } = await start({ options: { consumer: false } });
    await producer.publish(PUSHED, 1);
    await harness.advance('1m');
    expect(logs.warnings.join()).toContain(
      "Its option 'push' means nothing in this process, which with 'consumer: false' only publishes: start a process that consumes, " +
        'with the same option.',
    );
    expect(receiver.requests).toEqual([]);
  });
});
