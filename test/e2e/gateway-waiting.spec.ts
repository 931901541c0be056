import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { GATEWAY_KINDS, type TestGateway, useGateways } from '../support/app/gateway.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();
const open = useGateways(bed);

const MESSAGES = '/v1/topics/jobs/messages';
const RECEIVE = '/v1/topics/jobs/receive';

/** Waits until this many requests wait for messages: with so many at most, one more is refused. */
async function untilWaiting(gateway: TestGateway): Promise<void> {
  await eventually(async () => {
    const { status } = await gateway.send(RECEIVE, { body: { wait: 0 } });
    expect(status).toBe(429);
  });
}

describe.each(GATEWAY_KINDS)('waiting at the gateway (%s)', (kind) => {
  it('answers as soon as a message is due, and with none when the time is over', async () => {
    const gateway = await open(kind);
    expect(await gateway.receive('jobs', { wait: 50 })).toEqual([]);
    const received = gateway.receive('jobs', { wait: '20s' });
    await gateway.ok(MESSAGES, { body: { payload: 1, id: 'one' } });
    expect(await received).toMatchObject([{ id: 'one' }]);
  });

  it('lets nobody wait beyond the limit, and again when one has gone', async () => {
    const gateway = await open(kind, { maxWaiting: 1 });
    const { leave } = gateway.open(RECEIVE, { wait: '30s' });
    await untilWaiting(gateway);
    const { status, content, headers } = await gateway.send(RECEIVE, { body: {} });
    expect([status, content['code'], headers.get('retry-after')]).toEqual([429, 'TOO_MANY_WAITING', '1']);
    leave();
    await eventually(async () => expect(await gateway.receive('jobs', { wait: 0 })).toEqual([]));
  });

  it('leases nothing to whoever has gone', async () => {
    const gateway = await open(kind, { maxWaiting: 1 });
    const { leave } = gateway.open(RECEIVE, { wait: '30s', lease: '1h' });
    await untilWaiting(gateway);
    leave();
    await gateway.ok(MESSAGES, { body: { payload: 1, id: 'one' } });
    await eventually(async () =>
      expect(await gateway.receive('jobs', { wait: '1s' })).toMatchObject([{ id: 'one', attempt: 1 }]),
    );
  });

  it('answers who waits when it shuts down, and refuses who comes later', async () => {
    const gateway = await open(kind, { maxWaiting: 2 });
    const waiting = [
      gateway.open(RECEIVE, { wait: '60s' }),
      gateway.open('/v1/receive', { topics: ['mail', 'jobs'], wait: '60s' }),
    ];
    await untilWaiting(gateway);
    const closed = gateway.close();
    for (const { answered } of waiting) {
      const response = await answered;
      let text = '';
      for await (const chunk of response) text += String(chunk);
      expect([response.statusCode, response.headers.connection, text]).toEqual([200, 'close', '{"messages":[]}']);
    }
    await closed;
    await expect(gateway.send(RECEIVE, { body: {} })).rejects.toThrow('fetch failed');
  });
});

describe.each(GATEWAY_KINDS)('an Idempotency-Key (%s)', (kind) => {
  const headers = { 'idempotency-key': 'order 4711' };

  it('gives a request that is made again its first answer, whichever process it reaches', async () => {
    const [first, second] = [await open(kind), await open(kind)];
    const twice = async (path: string, sent: object) => {
      const answers = [await first.send(path, { ...sent, headers }), await second.send(path, { ...sent, headers })];
      expect(answers[1]?.status).toBe(answers[0]?.status);
      expect(answers[1]?.content).toEqual(answers[0]?.content);
      return answers[0]?.content;
    };
    const published = await twice(MESSAGES, { body: { payload: 1, delay: '1h' } });
    expect(published).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8/), duplicate: false });
    await twice(MESSAGES, { body: { messages: [1, 2, 3].map((payload) => ({ payload, delay: '1h', tags: ['x'] })) } });
    expect(await first.ok('/v1/topics/jobs/stats')).toMatchObject({ scheduled: 4 });
    expect(await twice(MESSAGES, { body: { payload: 1, id: 'named', key: 'k' } })).toMatchObject({ duplicate: false });
    const [message] = await first.receive('jobs', { wait: '10s' });
    const settlement = { receipt: message?.['receipt'], outcome: 'retry', reason: 'no', delay: '1h' };
    expect(await twice('/v1/settle', { body: settlement })).toMatchObject({ status: 'settled' });
    expect(await first.ok(`${MESSAGES}/named?key=k`)).toMatchObject({ attempts: 1 });
  });

  it('settles a receipt that comes twice in a request once, by the first, in whichever process', async () => {
    const [first, second] = [await open(kind), await open(kind)];
    await first.ok(MESSAGES, { body: { messages: [1, 2, 3].map((id) => ({ payload: 1, id: `${id}` })) } });
    for (const [gateway, named] of [
      [first, {}],
      [first, { headers }],
      [second, { headers }],
    ] as const) {
      const [{ id, receipt } = {}] = await first.receive('jobs', { lease: '5m' });
      const settlements = [
        { receipt, outcome: 'dead', reason: 'first' },
        { receipt, outcome: 'ack' },
      ];
      const { results } = await gateway.ok('/v1/settle', { body: { settlements }, ...named });
      expect(results).toMatchObject([{ status: 'settled' }, { status: 'stale' }]);
      expect(await first.ok(`${MESSAGES}/${String(id)}`)).toMatchObject({
        state: 'dead',
        failure: { message: 'first' },
      });
    }
  });

  it('runs a schedule once, also if its message was handled meanwhile', async () => {
    const gateway = await open(kind);
    await gateway.ok('/v1/schedules/daily', { method: 'PUT', body: { topic: 'jobs', payload: 1, every: '24h' } });
    const run = async () => gateway.ok('/v1/schedules/daily/run', { method: 'POST', headers });
    const published = await run();
    expect(await run()).toEqual(published);
    const [message] = await gateway.receive('jobs', { wait: '10s' });
    expect(message).toMatchObject({ id: published['id'], payload: 1 });
    await gateway.ok('/v1/settle', { body: { receipt: message?.['receipt'], outcome: 'ack' } });
    expect(await run()).toEqual(published);
    expect(await gateway.receive('jobs', { wait: 0 })).toEqual([]);
  });

  it('pauses a schedule once, and resumes it once, whatever others have done since', async () => {
    const gateway = await open(kind);
    await gateway.ok('/v1/schedules/daily', { method: 'PUT', body: { topic: 'jobs', payload: 1, every: '24h' } });
    const change = async (action: string, sent: object = {}): Promise<unknown> =>
      (await gateway.ok(`/v1/schedules/daily/${action}`, { method: 'POST', ...sent }))['paused'];
    const twice = { headers };
    expect([await change('pause', twice), await change('resume'), await change('pause', twice)]).toEqual([
      true,
      false,
      false,
    ]);
    await change('pause');
    expect([await change('resume', twice), await change('pause'), await change('resume', twice)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('tells requests apart by their bodies and their senders, and refuses what is no key', async () => {
    const gateway = await open(kind);
    const sent = [gateway, gateway.as('publish')].flatMap((one) =>
      [1, 2].map(async (payload) => one.ok(MESSAGES, { body: { payload }, headers })),
    );
    expect(new Set((await Promise.all(sent)).map(({ id }) => id)).size).toBe(4);
    const long = { body: { payload: 1 }, headers: { 'idempotency-key': 'x'.repeat(256) } };
    expect(await gateway.refusal(MESSAGES, long)).toEqual([400, 'INVALID_ARGUMENT']);
  });
});

it('takes an Idempotency-Key for that of the actor, however an application knows who that is', async () => {
  const gateway = await open('Express', { module: { actor: ({ headers }) => String(headers['x-api-key']) } });
  const schedule = { topic: 'jobs', payload: 1, every: '24h' };
  await gateway.ok('/v1/schedules/daily', { method: 'PUT', body: schedule, headers: { 'x-api-key': 'ann' } });
  for (const path of [MESSAGES, '/v1/schedules/daily/run']) {
    const ids = ['ann', 'bob', 'ann'].map(async (key) => {
      const headers = { 'idempotency-key': 'daily', 'x-api-key': key };
      return (await gateway.ok(path, { body: { payload: 1 }, headers }))['id'];
    });
    expect(new Set(await Promise.all(ids)).size).toBe(2);
  }
});

describe('the standalone gateway', () => {
  it('refuses what is no JSON, and bodies that are too large', async () => {
    const gateway = await open('standalone', { maxBody: 2000 });
    expect(await gateway.refusal(MESSAGES, { body: '{"payload":' })).toEqual([400, 'INVALID_JSON']);
    expect(await gateway.refusal(MESSAGES, { body: { payload: 'x'.repeat(2000) } })).toEqual([413, 'BODY_TOO_LARGE']);
    expect(await gateway.refusal(MESSAGES, { body: { payload: 'x'.repeat(20_000_000) } })).toEqual([
      413,
      'BODY_TOO_LARGE',
    ]);
    expect((await gateway.send(MESSAGES, { body: { payload: 'x' } })).status).toBe(201);
  });
});
