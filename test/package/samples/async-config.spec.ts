import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestProcess } from '../../support/processes/test-process.js';
import { Api } from '../../support/samples/api.js';
import { expectToEndInOrder, isReady, useSample } from '../../support/samples/sample.js';
import { StoredKeys } from '../../support/samples/stored-keys.js';

describe('sample/04-async-config', () => {
  const sample = useSample('04-async-config');
  const billingRedisUrl = otherDatabase(sample.redisUrl);
  const billing = { BILLING_REDIS_URL: billingRedisUrl, BILLING_QUEUE_PREFIX: `${sample.prefix}-billing` };
  const storedByBilling = new StoredKeys(billingRedisUrl, sample.prefix);
  let service: TestProcess;

  beforeAll(async () => {
    service = sample.start('main', billing);
    await isReady(service);
  });

  afterAll(() => storedByBilling.remove());

  it('handles messages on each of its connections, which the environment has told apart', async () => {
    const { status, body } = await new Api(await isReady(service)).post<{ id: string }>('/orders');
    expect(status).toBe(202);
    await service.printed(`[OrdersService] Order ${body.id} is confirmed`);
    await service.printed(`[BillingService] The invoice of order ${body.id} is written`);
    expect(await sample.stored.topics()).toEqual([`${sample.prefix}:order.placed`]);
    expect(await storedByBilling.topics()).toEqual([`${sample.prefix}-billing:invoice.due`]);
  });

  it('does not boot in a wrong environment, and says all that is wrong with it, but no password', async () => {
    const wrong = { REDIS_URL: 'http://shop:secret@localhost', QUEUE_CONCURRENCY: '0', BILLING_QUEUE_PREFIX: 'a b' };
    const misled = sample.start('main', wrong);
    await misled.exit();
    expect(misled.ending).toBe(1);
    const [, problems = ''] = /^Error: The environment is wrong: (.+)$/m.exec(misled.output) ?? [];
    expect(problems.split(', ')).toEqual([
      expect.stringMatching(/^REDIS_URL must be an address such as redis:/),
      'QUEUE_CONCURRENCY must not be less than 1',
      expect.stringMatching(/^BILLING_QUEUE_PREFIX must match/),
    ]);
    expect(misled.output).not.toContain('secret');
  });

  it('ends in order at SIGTERM', async () => {
    await expectToEndInOrder(service);
    expect([...(await sample.stored.ofConsumers()), ...(await storedByBilling.ofConsumers())]).toEqual([]);
  });
});

/** On the same server, so that no other has to be started; what is stored in one is not seen in the other. */
function otherDatabase(url: string): string {
  const other = new URL(url);
  other.pathname = '/14';
  return other.href;
}
