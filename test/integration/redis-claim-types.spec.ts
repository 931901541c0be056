import { expect, inject, it } from 'vitest';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { LONG_AGO, message } from '../support/broker/broker-bed.js';
import { openRedisBed } from '../support/broker/redis-bed.js';

it('a claim that removes a damaged entry has handed nothing out before it finds a key of another type', async () => {
  const bed = await openRedisBed(inject('redisUrl'));
  const { broker, redis, keys, partition, nextCall, claimant } = bed;
  await claimant.acquire();
  await broker.messages.publish(partition, nextCall(), [message('a')]);
  await redis.zadd(keys.scheduled, LONG_AGO, toStoredId('gone', 'key'));
  await redis.rpush(keys.keyed, 'a list');

  // Messages of a call that has failed would wait for the end of their lease.
  const messages = [{ storedId: 'a', token: claimant.token(1) }];
  expect(await claimant.claim()).toMatchObject({ messages, repaired: 1 });
  await bed.close();
});
