import { inject } from 'vitest';
import { openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';
import { describeBroker } from './broker-contract.js';

async function open() {
  const { broker, redis, close } = await openRedisBed(inject('redisUrl'));
  return {
    broker,
    time: () => serverTime(redis),
    advance: async (milliseconds: number) => serverTimeReaches(redis, (await serverTime(redis)) + milliseconds),
    close,
  };
}

describeBroker('RedisBroker', open);
describeBroker('RedisBroker, deliveries share records', async () => ({ ...(await open()), sharesFrom: 1 }));
