import type { DelayQueueModuleOptions, TopicOptions } from 'nestjs-delay-queue';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SECRET } from '../../support/app/pushing.js';
import { start, useKitBed } from '../../support/kit/kit-bed.js';
import { PushReceiver } from '../../support/servers/push-receiver.js';

useKitBed();

async function pushing(
  topic: TopicOptions = {},
): Promise<{ receiver: PushReceiver; topics: DelayQueueModuleOptions['topics'] }> {
  const receiver = await PushReceiver.start();
  onTestFinished(async () => receiver.stop());
  return { receiver, topics: { paid: { ...topic, push: { url: receiver.url, secret: SECRET, allowPrivate: true } } } };
}

describe('on the testing kit', () => {
  it('a topic is pushed when the test moves the time, with retries and put-offs', async () => {
    const { receiver, topics } = await pushing({ backoff: { type: 'fixed', delay: '1m' } });
    receiver.answer = (response, _, n) => {
      if (n === 1) response.writeHead(500).end();
      else if (n === 2) response.writeHead(429, { 'retry-after': '1800' }).end();
      else response.writeHead(200).end();
    };
    const { harness, producer, tape } = await start({ options: { topics: topics ?? {} } });
    const acked = tape('acked');
    await producer.publish('paid', { order: 42 }, { delay: '30m' });
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
    expect(acked).toMatchObject([{ attempt: 2 }]);
  });

  it.each([
    ['for a year', { 'retry-after': '31536000' }, '1h'],
    ['for no time', { 'retry-after': '0' }, '1s'],
  ] as const)(
    'a server that wants to be left alone %s is left alone for a time that makes sense',
    async (_, headers, pause) => {
      const { receiver, topics } = await pushing();
      receiver.answer = (response, _request, n) => response.writeHead(n === 1 ? 429 : 200, headers).end();
      const { harness, producer } = await start({ options: { topics: topics ?? {} } });
      await producer.publish('paid', 1);
      await harness.advance('1ms');
      const begun = harness.now.getTime();
      expect(harness.scheduled('paid')).toHaveLength(1);
      await harness.advance(pause);
      expect(receiver.requests).toHaveLength(2);
      expect(harness.now.getTime() - begun).toBeLessThanOrEqual(3_600_000);
    },
  );

  it('a process that only publishes pushes nothing, and says so', async () => {
    const { receiver, topics } = await pushing();
    const { harness, producer, logs } = await start({ options: { topics: topics ?? {}, consumer: false } });
    await producer.publish('paid', 1);
    await harness.advance('1m');
    expect(logs.warnings.join()).toContain(
      "Its option 'push' means nothing in this process, which with 'consumer: false' only publishes: start a process that consumes, " +
        'with the same option.',
    );
    expect(receiver.requests).toEqual([]);
  });
});
