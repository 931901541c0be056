import { expect, it } from 'vitest';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { SucceededDeliveries } from '../../../../lib/consumer/delivery/succeeded-deliveries.js';
import { ACKED } from '../../../../lib/consumer/delivery/verdict.js';
import { SerializationError } from '../../../../lib/errors/publishing.errors.js';
import { tokenOf } from '../../../../lib/store/deliveries/receipt.js';
import { ClaimBed, claimed } from '../../../support/units/claim-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

/** A claimer whose first claim takes a delivery along while more succeed, and what became of that. */
function withAck() {
  const told: string[] = [];
  const succeeded = ['done', 'more'].map((storedId) => {
    const numbers = { delivery: 1, attempt: 1, weight: 0, dueAt: 0 };
    const message = { storedId, envelope: '[1,2]', token: tokenOf('epoch', 1), ...numbers };
    const delivery = new Delivery({ topic: 'jobs', index: 0 }, message, 1000);
    return new SucceededDeliveries([{ delivery, verdict: ACKED, operation: undefined }], {
      answered: (_, statuses) => void told.push(...statuses),
      failed: () => void told.push('failed'),
    });
  });
  const bed = new ClaimBed();
  const claimer = bed.claimer('jobs', { succeeded });
  claimer.start();
  expect(bed.claimOf('jobs').succeeded).toMatchObject([{ storedId: 'done' }]);
  expect(told).toEqual([]);
  return { bed, told };
}

it('tells what became of the deliveries that a claim has taken along', async () => {
  const { bed, told } = withAck();
  bed.claimOf('jobs').answer({ ...claimed(0), ended: ['stale'] } as ReturnType<typeof claimed>);
  await turns();
  expect(told).toEqual(['stale']);
});

it('lets them be settled by themselves if the partition is owned by another', async () => {
  const { bed, told } = withAck();
  bed.claimOf('jobs').answer({ status: 'not-owner', owner: undefined });
  await turns();
  expect(told).toEqual(['failed']);
});

it('lets them be settled by themselves if the claim is refused, and claims fewer without them', async () => {
  const { bed, told } = withAck();
  bed.claimOf('jobs').fail(new SerializationError('refused'));
  await turns();
  expect(told).toEqual(['failed']);
  expect(bed.claims.map(({ max, succeeded }) => [max, succeeded?.length])).toEqual([
    [16, 1],
    [8, undefined],
  ]);
});
