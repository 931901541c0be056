import { DelayQueueAdmin } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { PUSHED, startPushing } from '../support/app/pushing.js';
import type { Answering } from '../support/servers/push-receiver.js';
import { freePort } from '../support/servers/redis-server.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

/** Publishes, and waits for the dead letter with its failure. */
async function deadAfter(answer: Answering, attempts = 1) {
  const { app, receiver } = await startPushing(bed, { topic: { attempts } });
  receiver.answer = answer;
  await app.producer.publish(PUSHED, { n: 1 }, { id: 'a' });
  const dead = await app.events.dead.first();
  return { app, receiver, dead };
}

describe('a push that is not taken', () => {
  it('is tried again after any other status, and its failure has the status and the begin of the body', async () => {
    const { dead } = await deadAfter((response) => response.writeHead(500).end(`out of paper ${'x'.repeat(5000)}`), 2);
    expect(dead).toMatchObject({
      attempt: 2,
      failure: { reason: 'failed', name: 'PushFailedError', code: 'PUSH_FAILED' },
    });
    expect(dead.failure.message).toMatch(
      /^The push to http:\/\/127\.0\.0\.1:\d+ was answered with 500: out of paper x+$/,
    );
    expect(dead.failure.message.length).toBeLessThan(1200);
  });

  it('is given up after 410', async () => {
    const { dead, receiver } = await deadAfter((response) => response.writeHead(410).end('gone'), 5);
    expect(dead).toMatchObject({ attempt: 1, failure: { reason: 'unrecoverable' } });
    expect(dead.failure.message).toContain('answered with 410: gone');
    expect(receiver.requests).toHaveLength(1);
  });

  it('is put off by what Retry-After of 429 and 503 says, and spends no attempt', async () => {
    const { app, receiver } = await startPushing(bed, { topic: { attempts: 1 } });
    const times: number[] = [];
    receiver.answer = (response, _, n) => {
      times.push(performance.now());
      if (n === 1) response.writeHead(429, dateIn(1)).end();
      else if (n === 2) response.writeHead(503, { 'retry-after': '1' }).end();
      else response.writeHead(200).end();
    };
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    expect(await app.events.acked.first()).toMatchObject({ attempt: 1 });
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(950);
    expect(third - second).toBeGreaterThanOrEqual(950);
  });

  it.each([
    ['503 without Retry-After', 503, {}],
    ['503 with one that nobody can read', 503, { 'retry-after': 'soon' }],
    ['another status with Retry-After', 500, { 'retry-after': '1' }],
  ])('has failed after %s', async (_, status, headers) => {
    const { dead } = await deadAfter((response) => response.writeHead(status, headers).end());
    expect(dead.failure.message).toContain(`answered with ${status}`);
  });

  it.each([301, 302, 307])('follows no redirect with status %i', async (status) => {
    const { dead, receiver } = await deadAfter((response) =>
      response.writeHead(status, { location: 'http://127.0.0.1:1/secret-path' }).end(),
    );
    expect(dead.failure.message).toContain(
      `answered with ${status}, a redirect to http://127.0.0.1:1. Redirects are not followed`,
    );
    expect(dead.failure.message).not.toContain('secret-path');
    expect(receiver.requests).toHaveLength(1);
  });

  it('has failed if the connection is reset, or cannot be made', async () => {
    const { dead, app: first } = await deadAfter((response) => response.socket?.resetAndDestroy());
    await first.close();
    expect(dead.failure).toMatchObject({ name: 'PushFailedError' });
    expect(dead.failure.message).toMatch(/has failed: .*(ECONNRESET|socket hang up)/);
    const port = await freePort();
    const { app } = await startPushing(bed, { topic: { attempts: 1 }, push: { url: `http://127.0.0.1:${port}` } });
    await app.producer.publish(PUSHED, 1, { id: 'b' });
    expect((await app.events.dead.first()).failure.message).toContain('ECONNREFUSED');
  });

  it('has failed if the answer is another protocol', async () => {
    const { dead } = await deadAfter((response) =>
      response.socket?.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    );
    expect(dead.failure).toMatchObject({ name: 'PushFailedError' });
  });
});

describe('a server that', () => {
  it('does not answer is given up after the timeout, and the request with it', async () => {
    const { app, receiver } = await startPushing(bed, { push: { timeout: 150 }, topic: { attempts: 1 } });
    receiver.answer = () => {};
    await app.producer.publish(PUSHED, 1);
    const { failure } = await app.events.dead.first();
    expect(failure.message).toContain('the server has not answered within 150 ms');
    await eventually(() => expect(receiver.requests[0]?.isAborted).toBe(true));
  });

  it('answers with a body without end has taken the message, and is not read for long', async () => {
    const { app, receiver } = await startPushing(bed);
    let sent = 0;
    receiver.answer = (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536);
      const write = (): void => {
        sent += chunk.length;
        if (!response.destroyed) response.write(chunk, write);
      };
      write();
    };
    await app.producer.publish(PUSHED, 1);
    await app.events.acked.first();
    await eventually(() => expect(receiver.requests[0]?.isAborted).toBe(true));
    // What fits into the buffers of both sides comes on top of what is read.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it('drips its complaint is not read for long', async () => {
    const { app, receiver } = await startPushing(bed, { push: { timeout: '10m' }, topic: { attempts: 1 } });
    receiver.answer = (response) => {
      response.writeHead(500);
      response.write('too busy');
      const timer = setInterval(() => response.write('!'), 100);
      response.on('close', () => clearInterval(timer));
    };
    await app.producer.publish(PUSHED, 1);
    const { failure } = await app.events.dead.first();
    expect(failure.message).toMatch(/answered with 500: too busy!*$/);
  });
});

describe('the request ends', () => {
  it('when its message is cancelled', async () => {
    const { app, receiver } = await startPushing(bed);
    receiver.answer = () => {};
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    await receiver.received();
    expect(await app.producer.cancel(PUSHED, 'a')).toBe('in-flight');
    await eventually(() => expect(receiver.requests[0]?.isAborted).toBe(true));
    await eventually(async () => expect(await app.get(DelayQueueAdmin).get(PUSHED, 'a')).toBeUndefined());
    expect(receiver.requests).toHaveLength(1);
  });

  it('when the time of its topic is up', async () => {
    const { app, receiver } = await startPushing(bed, { topic: { attempts: 1, timeout: 100 } });
    receiver.answer = () => {};
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    expect((await app.events.dead.first()).failure).toMatchObject({ name: 'HandlerTimeoutError' });
    await eventually(() => expect(receiver.requests[0]?.isAborted).toBe(true));
  });

  it('when the process shuts down and its time is up; the message goes back', async () => {
    const { app, receiver } = await startPushing(bed, { options: { consumer: { shutdownTimeout: 100 } } });
    receiver.answer = () => {};
    await app.producer.publish(PUSHED, 1, { id: 'a' });
    await receiver.received();
    await app.close();
    await eventually(() => expect(receiver.requests[0]?.isAborted).toBe(true));
    const publisher = await bed.start({ options: { consumer: false } });
    expect(await publisher.get(DelayQueueAdmin).get(PUSHED, 'a')).toMatchObject({ state: 'scheduled', attempts: 0 });
  });
});

/** A date so many seconds from now. */
function dateIn(seconds: number): Record<string, string> {
  return { 'retry-after': new Date(Date.now() + seconds * 1000).toUTCString() };
}
