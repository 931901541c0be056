import { inject } from 'vitest';
import { openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';
import { describeBroker } from './broker-contract.js';

describeBroker('RedisBroker', async () => {
  const { broker, redis, close } = await openRedisBed(inject('redisUrl'));
  return {
    broker,
    time: () => serverTime(redis),
    advance: async (milliseconds) => serverTimeReaches(redis, (await serverTime(redis)) + milliseconds),
    close,
  };
});
