import { Injectable } from '@nestjs/common';
import {
  ConfigurationError,
  DelayQueueAdmin,
  DelayQueueHealth,
  DelayQueueReceiver,
  DelayedHandler,
  InvalidArgumentError,
  OnDeadLetter,
  type DeadLetter,
} from 'nestjs-delay-queue';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { PUSHED, SECRET, startPushing } from '../support/app/pushing.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

describe('a pushed message', () => {
  it('is a signed request with what is known of it, and is acknowledged by a status from 200 to 299', async () => {
    const { app, receiver } = await startPushing(bed, {
      push: { headers: { Authorization: 'Bearer of-the-receiver' } },
    });
    const payload = { order: 42, text: 'grüße, 世界 \u2028 "' };
    const headers = {
      tenant: 'Ümläut % 1',
      'a b': '1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    const { dueAt } = await app.producer.publish(PUSHED, payload, { id: 'ordé/42', key: 'k', headers });
    const [request] = await receiver.received();
    await app.events.acked.first();
    expect(JSON.parse(request?.body ?? '')).toEqual(payload);
    expect(new Webhook(SECRET).verify(request?.body ?? '', request?.headers ?? {})).toEqual(payload);
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(request?.body ?? '')),
      authorization: 'Bearer of-the-receiver',
      'webhook-id': expect.stringMatching(/^msg_[\w-]{32}$/) as string,
      'delay-queue-topic': PUSHED,
      'delay-queue-id': 'ord%C3%A9/42',
      'delay-queue-key': 'k',
      'delay-queue-attempt': '1',
      'delay-queue-due-at': dueAt.toISOString(),
      'delay-queue-header-tenant': '%C3%9Cml%C3%A4ut %25 1',
      'delay-queue-header-a%20b': '1',
      traceparent: headers.traceparent,
    });
    expect(await app.get(DelayQueueAdmin).get(PUSHED, { id: 'ordé/42', key: 'k' })).toBeUndefined();
  });

  it('has the same id at all its deliveries, and another one if it is published again', async () => {
    const { app, receiver } = await startPushing(bed);
    receiver.answer = (response, _, n) => response.writeHead(n < 3 ? 500 : 200).end();
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    await app.events.acked.first();
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    const requests = await receiver.received(4);
    const [first, second, third, other] = requests.map((request) => request.headers['webhook-id']);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(requests.map((request) => request.headers['delay-queue-attempt'])).toEqual(['1', '2', '3', '1']);
  });

  it('is signed with every secret while they change', async () => {
    const next = `whsec_${Buffer.alloc(24, 'the next secret').toString('base64')}`;
    const { app, receiver } = await startPushing(bed, { push: { secret: [next, SECRET] } });
    await app.producer.publish(PUSHED, { n: 1 });
    const [request] = await receiver.received();
    for (const secret of [SECRET, next]) {
      expect(new Webhook(secret).verify(request?.body ?? '', request?.headers ?? {})).toEqual({ n: 1 });
    }
    const other = new Webhook(Buffer.alloc(32, 1).toString('base64'));
    expect(() => other.verify(request?.body ?? '', request?.headers ?? {})).toThrow('No matching signature');
  });

  it('goes over a connection that was used before, also after the server has closed it, until the application closes', async () => {
    const { app, receiver } = await startPushing(bed, { push: { concurrency: 1 }, topic: { attempts: 1 } });
    for (let i = 0; i < 5; i++) await app.producer.publish(PUSHED, i);
    await receiver.received(5);
    expect(receiver.connections).toBe(1);
    await app.events.acked.take(5);
    // It ends the connection when the next request is on its way.
    receiver.answer = (response, _, n) => (n === 6 ? response.destroy() : response.writeHead(200).end());
    await app.producer.publish(PUSHED, 5);
    await app.events.acked.take(6);
    expect([receiver.requests.length, receiver.connections]).toEqual([7, 2]);
    await app.producer.publish(PUSHED, 6);
    await app.events.acked.take(7);
    await eventually(() => expect(receiver.open).toBe(1));
    await app.close();
    // By itself it would be closed after 15 s.
    await eventually(() => expect(receiver.open).toBe(0), 10_000);
  });

  it('is handled as by a method: its health, its limits and its hooks are the same', async () => {
    @Injectable()
    class Hooks {
      readonly told: DeadLetter[] = [];
      @OnDeadLetter(PUSHED)
      onDead(letter: DeadLetter): void {
        this.told.push(letter);
      }
    }
    const { receiver, app: first } = await startPushing(bed);
    await first.close();
    receiver.answer = (response) => response.writeHead(410).end('moved away');
    const push = { url: receiver.url, secret: SECRET, allowPrivate: true };
    const app = await bed.start({ options: { topics: { [PUSHED]: { push } } }, providers: [Hooks] });
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    await eventually(() =>
      expect(app.get(Hooks).told).toMatchObject([{ id: 'a', failure: { reason: 'unrecoverable' } }]),
    );
    const health = await app.get(DelayQueueHealth).check();
    expect(health.topics.map(({ topic }) => topic)).toEqual([PUSHED]);
    expect(app.logs.lines.join('\n')).toContain(`push to http://127.0.0.1:${receiver.port} handles topic '${PUSHED}'`);
    expect(app.logs.lines.join('\n')).not.toContain('in-the-query');
  });
});

describe('a topic that is pushed', () => {
  const push = { url: 'https://example.com', secret: SECRET };

  it('has no method that handles it as well', async () => {
    @Injectable()
    class Orders {
      @DelayedHandler(PUSHED)
      work(): void {}
    }
    const error = await bed.failingBoot({ options: { topics: { [PUSHED]: { push } } }, providers: [Orders] });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(`Topic '${PUSHED}' has topics['${PUSHED}'].push, and Orders.work handles it`);
  });

  it('is not received from in the same process', async () => {
    const { app } = await startPushing(bed);
    const receiving = app.get(DelayQueueReceiver).receive(PUSHED);
    await expect(receiving).rejects.toThrow(InvalidArgumentError);
    await expect(receiving).rejects.toThrow('is handled, pushed or forwarded by this process');
  });
});
