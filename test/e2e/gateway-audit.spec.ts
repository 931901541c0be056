import { DelayQueueAdmin } from 'nestjs-delay-queue';
import type { GatewayHttpRequest } from 'nestjs-delay-queue/gateway';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

const MESSAGES = '/v1/topics/jobs/messages';

function actor({ headers }: GatewayHttpRequest): string | undefined {
  return headers.authorization?.slice('Bearer '.length);
}

describe.each(['Express', 'standalone'] as const)('what the gateway writes down, %s', (kind) => {
  it('is who has changed what, and not the work of the application', async () => {
    const gateway = await open(kind, { module: { actor } });
    for (const id of ['a', 'b']) {
      await gateway.ok(MESSAGES, { body: { payload: 'secret', id, key: 'k', tags: ['t'], delay: '1h' } });
    }
    const schedule = { method: 'PUT', body: { topic: 'jobs', payload: 'secret', every: '1h' } };
    await gateway.ok(`${MESSAGES}/a`, { method: 'PATCH', body: { delay: '2h' } });
    await gateway.ok(`${MESSAGES}/a?key=k`, { method: 'DELETE' });
    await gateway.ok(`${MESSAGES}?tag=t`, { method: 'DELETE' });
    await gateway.ok('/v1/schedules/s', schedule);
    await gateway.ok('/v1/schedules/s/run', { method: 'POST' });
    const [message] = await gateway.receive();
    await gateway.ok('/v1/settle', { body: { receipt: message?.['receipt'], outcome: 'ack' } });

    const admin = (await bed.start({ options: { consumer: false } })).get(DelayQueueAdmin);
    const { entries } = await admin.audit();
    const about = { actor: 'all', topic: 'jobs', phase: 'done' };
    expect(entries.toReversed()).toMatchObject([
      { ...about, action: 'reschedule', given: { id: 'a', delay: '2h' }, result: 'moved' },
      { ...about, action: 'cancel', given: { id: 'a', key: 'k' }, result: 'cancelled' },
      { ...about, action: 'cancelTagged', phase: 'begun' },
      { ...about, action: 'cancelTagged', given: { tag: 't' }, result: { cancelled: 1 } },
      { ...about, action: 'upsertSchedule', given: { id: 's', every: '1h' } },
      { ...about, action: 'runScheduleNow', given: { id: 's' } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('secret');
  });
});
