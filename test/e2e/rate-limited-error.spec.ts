import { DelayQueueAdmin, RateLimitedError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Calls, TOPIC, publish, startLimited } from '../support/app/limited-calls.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

describe('a handler that has met a rate limit', () => {
  it('holds the whole topic, in all applications, and then everything goes on', async () => {
    const calls = new Calls();
    let heldAt = Infinity;
    calls.respond = ({ id }) => {
      if (id !== 'first' || heldAt < Infinity) return;
      heldAt = performance.now();
      throw new RateLimitedError('1s');
    };
    const [app] = [await startLimited(bed, calls), await startLimited(bed, calls)];
    await app.producer.publish(TOPIC, 0, { id: 'first' });
    await eventually(async () => expect(await bed.redis.hget(bed.partition(TOPIC).key('meta'), 'held')).not.toBeNull());
    await publish(app, 30);
    await eventually(() => expect(calls.ids).toHaveLength(32));

    const early = calls.begun.filter(({ id, at }) => id !== 'first' && at < heldAt + 1000);
    expect(early).toEqual([]);
    expect(calls.ids.filter((id) => id === 'first')).toHaveLength(2);
  });

  it('goes on at once if the topic is resumed, in the application that has met it, too', async () => {
    const calls = new Calls();
    calls.respond = () => {
      if (calls.ids.length === 1) throw new RateLimitedError('10m');
    };
    const app = await startLimited(bed, calls);
    const admin = app.get(DelayQueueAdmin);
    await publish(app, 1);
    await eventually(async () => expect((await admin.stats(TOPIC)).heldUntil).toBeDefined());
    await app.producer.publish(TOPIC, 0, { id: 'other' });
    await admin.resume(TOPIC);
    await eventually(() => expect(calls.ids).toEqual(['m0', 'other']));

    // It may be held again.
    calls.respond = () => {
      throw new RateLimitedError('5m');
    };
    await app.producer.publish(TOPIC, 0, { id: 'third' });
    await eventually(async () => expect((await admin.stats(TOPIC)).heldUntil).toBeDefined());
    await admin.resume(TOPIC);
    calls.respond = () => undefined;
    await app.producer.publish(TOPIC, 0, { id: 'fourth' });
    await eventually(() => expect(calls.ids.slice(2)).toEqual(['third', 'fourth']));
  });

  it('holds the messages of a key, and no others', async () => {
    const calls = new Calls();
    calls.respond = ({ id }) => {
      if (id === 'm0' && calls.ids.filter((one) => one === id).length === 1) {
        throw new RateLimitedError('600ms', { scope: 'key' });
      }
    };
    const app = await startLimited(bed, calls);
    await app.producer.publish(TOPIC, 0, { id: 'm0', key: 'k0' });
    const { at } = await app.events.retried.first().then(() => calls.begun[0] as { at: number });
    await app.producer.publish(TOPIC, 0, { id: 'same', key: 'k0' });
    await app.producer.publish(TOPIC, 0, { id: 'other', key: 'k1' });
    await eventually(() => expect(calls.ids).toHaveLength(4));

    expect(calls.ids.slice(0, 2)).toEqual(['m0', 'other']);
    const again = calls.begun[2]?.at ?? 0;
    expect(again - at).toBeGreaterThanOrEqual(599);
  });

  it('puts off the message alone, and spends no attempt', async () => {
    const calls = new Calls();
    const attempts: number[] = [];
    calls.respond = ({ id, attempt }) => {
      if (id !== 'm0') return;
      attempts.push(attempt);
      if (attempts.length < 4) throw new RateLimitedError(20, { scope: 'message' });
    };
    const app = await startLimited(bed, calls, { attempts: 1 });
    await publish(app, 5);
    await eventually(() => expect(attempts).toEqual([1, 1, 1, 1]));
  });
});
