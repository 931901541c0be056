import { describe, expect } from 'vitest';
import type { ExplainCause } from '../../lib/admin/explain-causes.js';
import type { Explanation } from '../../lib/admin/explain.js';
import { fromStoredId } from '../../lib/messages/stored-id.js';
import { SystemClock } from '../../lib/time/clock.js';
import { type BrokerTest, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { FIRST, SECOND, publishAll } from '../support/broker/ordered-messages.js';
import { testAdmin } from '../support/units/admin.js';
import { ONE_CAUSE, beat, handled, known } from './explained-causes.js';

function causesOf({ cause, also }: Explanation): ExplainCause[] {
  return [cause, ...also];
}

export function explainedContract(it: BrokerTest): void {
  describe('admin.explain()', () => {
    it.for(ONE_CAUSE)('says %j of %s', async ([causes, , seed, advice], { bed }) => {
      const admin = await handled(bed);
      await seed(bed);
      const explanation = await admin.explain(bed.partition.topic, 'a');

      expect(causesOf(explanation)).toEqual(causes);
      expect(explanation.advice).toMatch(advice);
      expect(explanation.facts).toMatchObject({ topic: bed.partition.topic, id: 'a' });
    });

    it('says that a topic was never used, and which one was probably meant', async ({ bed }) => {
      const admin = await handled(bed);
      const { topic } = bed.partition;

      expect(await admin.explain(`${topic}x`, 'a')).toMatchObject({
        cause: 'unknown-id',
        advice: expect.stringContaining(`Did you mean '${topic}'?`) as string,
      });
      expect(await admin.explain('nothing.like.it', 'a')).toMatchObject({
        cause: 'unknown-id',
        advice: expect.stringContaining('See which topics there are.') as string,
      });
    });

    it('says what a message of an ordered topic waits for', async ({ bed }) => {
      bed.order = 'continue';
      const admin = await handled(bed);
      await publishAll(bed, FIRST, SECOND);
      const [first, second] = [fromStoredId(FIRST), fromStoredId(SECOND)];
      const { cause, also, facts, advice } = await admin.explain(bed.partition.topic, second);

      expect([cause, also, facts.blockedBy]).toEqual(['blocked-by-key', [], first.id]);
      expect(advice).toContain(`Message '${first.id}' of the same key comes first`);
    });

    it('names everything that would keep a message, in its order', async ({ bed }) => {
      await known(bed);
      const admin = testAdmin(bed.broker, new SystemClock());
      await bed.publishAll([message('0'), message('a')]);
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());

      expect(causesOf(await admin.explain(bed.partition.topic, 'a'))).toEqual([
        'paused',
        'no-consumer',
        'owner-silent',
        'behind',
      ]);
      await bed.broker.fleet.release(bed.partition, bed.owner);
      await bed.reschedule('a', { after: LONG });
      expect(causesOf(await admin.explain(bed.partition.topic, 'a'))).toEqual([
        'not-due',
        'paused',
        'no-consumer',
        'no-owner',
      ]);
    });

    it('takes a process for silent whose heartbeats have ended', async ({ bed }) => {
      await known(bed);
      await beat(bed, 5);
      const admin = testAdmin(bed.broker, new SystemClock());
      await bed.publish('a');
      await bed.advance(50);

      expect(causesOf(await admin.explain(bed.partition.topic, 'a'))).toEqual(['no-consumer', 'owner-silent']);
    });

    it('has the facts', async ({ bed }) => {
      const admin = await handled(bed);
      await bed.settled('a', RETRY_LATER);
      const { facts } = await admin.explain(bed.partition.topic, { id: 'a', key: 'a' });

      expect(facts).toMatchObject({
        key: 'a',
        partition: 0,
        state: 'scheduled',
        deliveries: 1,
        attempts: 1,
        crashes: 0,
        failure: { reason: 'failed', name: 'Error', message: 'boom' },
        paused: false,
        handlers: ['owner'],
        owner: 'owner',
        ownerAlive: true,
        before: 0,
      });
      expect(Number(facts.dueAt)).toBeGreaterThan(Number(facts.at));
      expect([facts.leaseEndsAt, facts.diedAt]).toEqual([undefined, undefined]);
    });
  });
}
