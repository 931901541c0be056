import { describe, expect, it } from 'vitest';
import type { Broker } from '../../../lib/store/broker.interface.js';
import { STORES } from '../../../lib/store/store-broker.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type BrokerCall, operationsOf, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const PARTITION = { topic: 'orders', index: 1 };

describe('wrapBroker', () => {
  it('puts its function around every operation', async () => {
    const calls: BrokerCall[] = [];
    const embedded = new EmbeddedBroker(new ManualClock());
    const broker = wrapBroker(embedded, async (call) => void calls.push(call));
    const names = operationsOf(embedded);
    for (const name of names) {
      const owner: object = [broker, ...STORES.map((store) => broker[store])].find((object) => name in object) ?? {};
      await (Reflect.get(owner, name) as (...args: unknown[]) => Promise<unknown>)(name, 'more');
    }

    expect(calls.map(({ operation, args }) => [operation, args])).toEqual(names.map((name) => [name, [name, 'more']]));
    expect(names).toEqual(expect.arrayContaining(['claim', 'connect', 'listDead', 'publish', 'report', 'tell']));
  });

  it('makes the call as often as the function says, and answers what the function does', async () => {
    const embedded = new EmbeddedBroker(new ManualClock());
    const broker = wrapBroker(embedded, async (call) => {
      if (call.operation !== 'heartbeat') return call.run();
      const [{ session }] = call.args;
      if (session === 'lost') throw new Error('not sent');
      await call.run();
      const { isNew, sessions } = await call.run();
      return { isNew, sessions: sessions.map(({ session: name }) => `${name}!`) };
    });
    const heartbeat = { session: 'm', count: 1, length: 1000, digest: 'd' };

    expect(await broker.fleet.heartbeat(heartbeat)).toEqual({ isNew: false, sessions: ['m!'] });
    await expect(broker.fleet.heartbeat({ ...heartbeat, session: 'lost' })).rejects.toThrow('not sent');
    expect(await embedded.fleet.sessions()).toMatchObject([{ session: 'm' }]);
  });

  it('leaves all else to the broker, unless something takes its place', async () => {
    const clock = new ManualClock();
    const embedded = new EmbeddedBroker(clock);
    const link: Broker['link'] = { ...embedded.link, isUp: false };
    const broker = wrapBroker(embedded, async ({ run }) => run(), { link });
    const signals: unknown[] = [];
    broker.watchPartition(PARTITION, (signal) => signals.push(signal));
    await broker.deliveries.resume(PARTITION, { caller: 'test', sequence: 1 });

    expect(broker.now()).toBe(clock.now());
    expect(broker.link).toBe(link);
    expect(embedded.link.isUp).toBe(true);
    expect(broker.driver.address).toBe('embedded:');
    expect(signals).toEqual([{ kind: 'due', at: Math.floor(clock.now()) }]);
  });
});
