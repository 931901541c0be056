import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { GATEWAY_KINDS, useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

const MESSAGES = '/v1/topics/jobs/messages';

describe.each(GATEWAY_KINDS)('the gateway (%s)', (kind) => {
  it('keeps what was thrown in another language as that of a handler, and no more of it', async () => {
    const gateway = await open(kind);
    const names = { retried: 'ValueError', dead: 'ValueError', unrecoverable: 'UnrecoverableError' };
    await gateway.ok(MESSAGES, { body: { messages: Object.keys(names).map((id) => ({ payload: 1, id })) } });
    const received: Record<string, string> = {};
    while (Object.keys(received).length < 3) {
      for (const { id, receipt } of await gateway.receive('jobs', { max: 10 })) received[String(id)] = String(receipt);
    }
    const settlements = Object.entries(names).map(([id, name]) => ({
      receipt: received[id],
      outcome: id === 'retried' ? 'retry' : 'dead',
      error: { name, message: 'no such order', stack: 'at shop.py\n'.repeat(1000) },
    }));
    expect(await gateway.refusal('/v1/settle', { body: { ...settlements[0], reason: 'busy' } })).toEqual([
      400,
      'INVALID_ARGUMENT',
    ]);
    await gateway.ok('/v1/settle', { body: { settlements } });
    const told = { message: 'no such order', stack: 'at shop.py\n'.repeat(1000).slice(0, 4096) };
    const failures = await Promise.all(
      Object.keys(names).map(async (id) => (await gateway.ok(`${MESSAGES}/${id}`))['failure']),
    );
    expect(failures).toEqual([
      { reason: 'failed', name: 'ValueError', ...told },
      {
        reason: 'unrecoverable',
        name: 'UnrecoverableError',
        code: 'UNRECOVERABLE',
        ...told,
        cause: { name: 'ValueError', message: 'no such order' },
      },
      { reason: 'unrecoverable', name: 'UnrecoverableError', code: 'UNRECOVERABLE', ...told },
    ]);
  });
});
