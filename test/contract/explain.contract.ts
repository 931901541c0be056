import { describe, expect } from 'vitest';
import { NO_TOKEN } from '../../lib/store/deliveries/receipt.js';
import { FIRST, SECOND, publishAll } from '../support/broker/ordered-messages.js';
import { type BrokerTest, DEAD, FAILURE, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';

const PUBLISHED = 1_700_000_000_000;

/** A message whose envelope says when it was published. */
function published(storedId: string, after = 0) {
  return message(storedId, { due: { after }, envelope: `[${PUBLISHED},{"payload":"of any length"}]` });
}

export function explainContract(it: BrokerTest): void {
  describe('explain', () => {
    it('finds nothing that is not there', async ({ bed }) => {
      expect(await bed.broker.messages.explain(bed.partition, 'a')).toBeUndefined();
    });

    it('looks at a message that waits', async ({ bed }) => {
      const before = Math.floor(await bed.time());
      await bed.publishAll([published('a', LONG)]);
      const look = await bed.broker.messages.explain(bed.partition, 'a');
      const { at = NaN, now = NaN } = look ?? {};

      expect(look).toEqual({
        now,
        state: 'scheduled',
        at,
        publishedAt: PUBLISHED,
        deliveries: 0,
        attempts: 0,
        crashes: 0,
        mark: undefined,
        failure: undefined,
        before: 0,
        paused: false,
        owner: bed.owner,
        token: NO_TOKEN,
      });
      expect(now).toBeGreaterThanOrEqual(before);
      expect(at).toBeGreaterThanOrEqual(before + LONG);
    });

    it('counts what is claimed before it, in the order of claims', async ({ bed }) => {
      // The short lease comes last: a host that stands still would have it end before another claim.
      await bed.deliver('running');
      await bed.deliver('lapsed', { lease: 5 });
      await bed.publishAll(['b', 'a', 'c'].map((id) => message(id)));
      await bed.advance(10);
      const places: (number | undefined)[] = [];
      for (const id of ['lapsed', 'running', 'a', 'b', 'c']) {
        places.push((await bed.broker.messages.explain(bed.partition, id))?.before);
      }

      expect(places).toEqual([0, undefined, 1, 2, 3]);
      expect((await bed.claim()).messages.map(({ storedId }) => storedId)).toEqual(['lapsed', 'a', 'b', 'c']);
    });

    it('tells of a delivery whose it is, and what happened to it meanwhile', async ({ bed }) => {
      const { token } = await bed.deliver('a');
      await bed.deliver('b');
      await bed.deliver('c');
      await bed.cancel('b');
      await bed.publish('c', { onDuplicate: 'replace' });

      const look = await bed.broker.messages.explain(bed.partition, 'a');
      expect(look).toMatchObject({ state: 'in-flight', token, deliveries: 1, attempts: 1, mark: undefined });
      expect(await bed.broker.messages.explain(bed.partition, 'b')).toMatchObject({
        state: 'in-flight',
        mark: 'cancelled',
      });
      expect(await bed.broker.messages.explain(bed.partition, 'c')).toMatchObject({
        state: 'in-flight',
        mark: 'replaced',
      });
    });

    it('tells of retries, crashes and deaths', async ({ bed }) => {
      await bed.settled('retried', RETRY_LATER);
      await bed.settled('dead', DEAD);
      await bed.deliver('crashed', { lease: 5 });
      await bed.advance(10);
      await bed.claim();

      expect(await bed.broker.messages.explain(bed.partition, 'retried')).toMatchObject({
        state: 'scheduled',
        deliveries: 1,
        attempts: 1,
        failure: FAILURE,
        token: NO_TOKEN,
      });
      expect(await bed.broker.messages.explain(bed.partition, 'dead')).toMatchObject({
        state: 'dead',
        failure: FAILURE,
      });
      expect(await bed.broker.messages.explain(bed.partition, 'crashed')).toMatchObject({ deliveries: 2, crashes: 1 });
    });

    it('tells of the partition: whether it is paused, and who owns it', async ({ bed }) => {
      await bed.publish('a');
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
      await bed.broker.fleet.release(bed.partition, bed.owner);

      expect(await bed.broker.messages.explain(bed.partition, 'a')).toMatchObject({
        paused: true,
        owner: bed.owner.split(' ')[0],
      });
    });

    it('tells what a blocked message waits for', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);

      expect(await bed.broker.messages.explain(bed.partition, SECOND)).toMatchObject({
        state: 'scheduled',
        blockedBy: FIRST,
        before: undefined,
      });
    });

    it('does not stumble over an envelope that says nothing', async ({ bed }) => {
      await bed.publish('a', { envelope: 'x' });

      expect((await bed.broker.messages.explain(bed.partition, 'a'))?.publishedAt).toBeUndefined();
    });

    it('changes nothing', async ({ bed }) => {
      await bed.deliver('lapsed', { lease: 5 });
      await bed.publish('a');
      await bed.advance(10);
      const before = [await bed.stats(), await bed.get('a'), await bed.get('lapsed')];
      for (const id of ['a', 'lapsed', 'other']) await bed.broker.messages.explain(bed.partition, id);

      expect([await bed.stats(), await bed.get('a'), await bed.get('lapsed')]).toEqual(before);
    });
  });
}
