import { of } from 'rxjs';
import { expect, it } from 'vitest';
import { start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

function forwarding() {
  const emitted: unknown[] = [];
  const client = { emit: (_: unknown, data: unknown) => of(emitted.push(data)) };
  return { emitted, topics: { paid: { forward: { client, pattern: 'paid' } } } };
}

it('on the testing kit a topic is forwarded when the test moves the time', async () => {
  const { emitted, topics } = forwarding();
  const { harness, producer } = await start({ options: { topics } });
  await producer.publish('paid', { order: 42 }, { delay: '30m' });
  await harness.advance('29m');
  expect(emitted).toEqual([]);
  await harness.advance('1m');
  expect(emitted).toEqual([{ order: 42 }]);
});

it('a process that only publishes forwards nothing, and says so', async () => {
  const { emitted, topics } = forwarding();
  const { harness, producer, logs } = await start({ options: { topics, consumer: false } });
  await producer.publish('paid', 1);
  await harness.advance('1m');
  expect(logs.warnings.join()).toContain("Its option 'forward' means nothing in this process");
  expect(emitted).toEqual([]);
});
