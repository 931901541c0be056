import { hostname } from 'node:os';
import { DelayQueueAdmin, DelayQueueReceiver } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { type GatewayKind, type GatewaySetup, useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

it.each<[what: string, kind: GatewayKind, setup: GatewaySetup, name: string]>([
  ['the name of its token', 'standalone', {}, 'all'],
  ['its address, if its token has no name', 'standalone', { tokens: [{ token: 'all' }] }, '127.0.0.1'],
  ['what the application calls it', 'Express', { module: { actor: () => 'ann' } }, 'ann'],
  ['its address, if the application calls it nothing', 'Fastify', {}, '127.0.0.1'],
])('whoever receives at a gateway without a name has %s', async (_, kind, setup, name) => {
  const gateway = await open(kind, setup);
  const observer = await bed.start({ options: { consumer: false } });
  await gateway.receive('jobs', { wait: 0 });
  await gateway.receive('mail', { wait: 0, consumer: 'worker-1' });
  const { receivers } = await observer.get(DelayQueueAdmin).fleet();
  const names = receivers.map(({ topic, consumer }) => [topic, consumer]);
  expect(Object.fromEntries(names)).toEqual({ jobs: name, mail: 'worker-1' });
});

it('whoever receives in a process without a name has that of its host', async () => {
  const app = await bed.start();
  await app.get(DelayQueueReceiver).receive('jobs');
  expect((await app.get(DelayQueueAdmin).fleet()).receivers).toMatchObject([{ topic: 'jobs', consumer: hostname() }]);
});
