import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/waiting.js';
import type { TestProcess } from '../../support/processes/test-process.js';
import { Api } from '../../support/samples/api.js';
import { expectToEndInOrder, isReady, useSample } from '../../support/samples/sample.js';

/** How long the worker's messages go on falling due while it is replaced, in milliseconds. */
const SPREAD = 1000;

describe('sample/05-producer-and-worker', () => {
  const sample = useSample('05-producer-and-worker');
  let producer: TestProcess;
  let worker: TestProcess;
  let api: Api;

  beforeAll(async () => {
    producer = sample.start('api');
    worker = sample.start('worker');
    api = new Api(await isReady(producer));
    await isReady(worker);
  });

  it('has the worker build what the API was asked for, and own all partitions', async () => {
    const id = await request('Sales of May');
    await worker.printed(`Report ${id} is built: Sales of May`);
    expect(await sample.stored.owners()).toEqual(Array.from({ length: 8 }, () => worker.pid));
  });

  it('refuses what is no request', async () => {
    expect(await api.post('/reports', { title: 'Sales', startAt: 'soon' })).toMatchObject({ status: 400 });
  });

  it('loses nothing while the worker is replaced, and builds nothing twice', async () => {
    const now = Date.now();
    const early = await Promise.all(
      Array.from({ length: 20 }, (_, i) => request(`Early ${i}`, new Date(now + (i * SPREAD) / 20))),
    );
    await worker.printed('is built: Early');
    await expectToEndInOrder(worker);
    expect(await sample.stored.ofConsumers()).toEqual([]);
    const late = await Promise.all(Array.from({ length: 5 }, (_, i) => request(`Late ${i}`)));

    const first = worker;
    worker = sample.start('worker');
    const asked = [...early, ...late];
    await until('all reports', () => built(first, worker).length >= asked.length);
    expect(built(first, worker).toSorted()).toEqual(asked.toSorted());
  });

  it('ends in order at SIGTERM, both applications', async () => {
    await expectToEndInOrder(producer, worker);
    expect(await sample.stored.ofConsumers()).toEqual([]);
  });

  async function request(title: string, startAt?: Date): Promise<string> {
    const { status, body } = await api.post<{ id: string }>('/reports', { title, startAt });
    expect(status).toBe(202);
    return body.id;
  }
});

/** The ids of the early and late reports that these workers have built. */
function built(...workers: readonly TestProcess[]): string[] {
  return workers.flatMap(({ output }) =>
    Array.from(output.matchAll(/Report (\S+) is built: (?:Early|Late)/g), ([, id = '']) => id),
  );
}
