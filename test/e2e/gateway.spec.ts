import { topic } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBed } from '../support/app/bed.js';
import { GATEWAY_KINDS, type TestGateway, useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

const MESSAGES = '/v1/topics/jobs/messages';

async function publish(gateway: TestGateway, message: object) {
  return gateway.ok(MESSAGES, { body: message });
}

describe.each(GATEWAY_KINDS)('the gateway (%s)', (kind) => {
  it('publishes a message with all its options, and hands it out as it was published', async () => {
    const gateway = await open(kind);
    const { status, content } = await gateway.send(MESSAGES, {
      body: {
        payload: { of: ['any', 1, null] },
        id: 'a/b 😀"?',
        key: 'k%2F',
        headers: { trace: 'ü' },
        tags: ['x'],
        attempts: 3,
        backoff: { type: 'steps', delays: ['1s', 2] },
        timeout: '1m',
        expireAfter: '1h',
        onDuplicate: 'replace',
        maxWait: '1h',
        delay: 0,
      },
    });
    expect([status, content]).toEqual([
      201,
      {
        id: 'a/b 😀"?',
        topic: 'jobs',
        partition: expect.any(Number),
        dueAt: expect.stringMatching(/^\d{4}-.*Z$/),
        duplicate: false,
      },
    ]);
    const [message] = await gateway.receive();
    expect(message).toMatchObject({
      id: 'a/b 😀"?',
      key: 'k%2F',
      payload: { of: ['any', 1, null] },
      headers: { trace: 'ü' },
      attempt: 1,
      maxAttempts: 3,
      dueAt: content['dueAt'],
      lease: 10_000,
    });
  });

  it('looks a message up, moves it, explains it, counts it and cancels it', async () => {
    const gateway = await open(kind);
    const id = 'a/b ü';
    const at = `${MESSAGES}/${encodeURIComponent(id)}`;
    await publish(gateway, { payload: 1, id, deliverAt: '2030-01-01T00:00:00+01:00', tags: ['t'] });
    expect(await gateway.ok(at)).toMatchObject({
      id,
      state: 'scheduled',
      payload: 1,
      at: '2029-12-31T23:00:00.000Z',
    });
    const moved = await gateway.ok(at, {
      method: 'PATCH',
      body: { deliverAt: { local: '2031-01-01T00:00', timeZone: 'UTC' } },
    });
    expect(moved).toEqual({ result: 'moved' });
    expect(await gateway.ok(`${at}?key=${encodeURIComponent(id)}`)).toMatchObject({ at: '2031-01-01T00:00:00.000Z' });
    expect(await gateway.ok(`${at}/explain`)).toMatchObject({ cause: 'not-due', facts: { id } });
    expect(await gateway.ok('/v1/topics/jobs/stats')).toMatchObject({ topic: 'jobs', scheduled: 1 });
    expect(await gateway.ok(at, { method: 'DELETE' })).toEqual({ result: 'cancelled' });
    expect(await gateway.ok(at, { method: 'DELETE' })).toEqual({ result: 'not-found' });
    expect(await gateway.ok(at, { method: 'PATCH', body: { delay: '1h' } })).toEqual({ result: 'not-found' });
    expect(await gateway.ok(`${at}/explain`)).toMatchObject({ cause: 'unknown-id' });
    expect(await gateway.refusal(at)).toEqual([404, 'MESSAGE_NOT_FOUND']);
  });

  it('says nothing of other topics when it explains', async () => {
    const gateway = await open(kind);
    const other = await bed.start();
    await other.producer.publish('jobz', 1, { delay: '1h' });
    expect(JSON.stringify(await gateway.ok(`${MESSAGES}/x/explain`))).not.toContain('jobz');
  });

  it('cancels by tag', async () => {
    const gateway = await open(kind);
    await gateway.ok(MESSAGES, {
      body: { messages: ['x', 'x', 'y'].map((tag) => ({ payload: 1, delay: '1h', tags: [tag] })) },
    });
    expect(await gateway.ok(`${MESSAGES}?tag=x`, { method: 'DELETE' })).toEqual({ cancelled: 2, inFlight: 0 });
    expect(await gateway.ok('/v1/topics/jobs/stats')).toMatchObject({ scheduled: 1 });
    expect(await gateway.refusal(MESSAGES, { method: 'DELETE' })).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it('publishes many, with a result for each if some are refused', async () => {
    const gateway = await open(kind);
    await publish(gateway, { payload: 1, id: 'taken', delay: '1h' });
    const messages = ['one', 'taken', 'two'].map((id) => ({ payload: id, id }));
    const { status, content } = await gateway.send(MESSAGES, { body: { messages } });
    expect(status).toBe(207);
    expect(content['messages']).toEqual([
      expect.objectContaining({ id: 'one', duplicate: false }),
      { error: expect.objectContaining({ code: 'DUPLICATE_MESSAGE', status: 409 }) },
      expect.objectContaining({ id: 'two' }),
    ]);
    const all = await gateway.send(MESSAGES, { body: { messages: [{ payload: 1 }, { payload: 2 }] } });
    expect([all.status, all.content['messages']]).toEqual([201, [expect.any(Object), expect.any(Object)]]);
  });

  it('settles one and many, extends leases, and tells what came too late', async () => {
    const gateway = await open(kind);
    await gateway.ok(MESSAGES, {
      body: { messages: ['ack', 'retry', 'dead', 'release'].map((id) => ({ payload: 1, id })) },
    });
    const received: Record<string, string> = {};
    while (Object.keys(received).length < 4) {
      for (const { id, receipt } of await gateway.receive('jobs', { max: 10 })) received[String(id)] = String(receipt);
    }
    const extended = await gateway.ok('/v1/extend', { body: { receipt: received['ack'], lease: '1m' } });
    expect(extended).toEqual({ receipt: received['ack'], status: 'extended' });
    const settlements = [
      { receipt: received['ack'], outcome: 'ack' },
      { receipt: received['retry'], outcome: 'retry', delay: '1h', reason: 'busy' },
      { receipt: received['dead'], outcome: 'dead', reason: 'no such order' },
    ];
    expect(await gateway.ok('/v1/settle', { body: { settlements } })).toEqual({
      results: settlements.map(({ receipt }) => ({ receipt, status: 'settled' })),
    });
    const one = { receipt: received['release'], outcome: 'release' };
    expect(await gateway.ok('/v1/settle', { body: one })).toEqual({ receipt: one.receipt, status: 'settled' });
    expect(await gateway.ok('/v1/settle', { body: one })).toMatchObject({ status: 'stale' });
    const lost = { extensions: [{ receipt: received['ack'], lease: '1m' }] };
    expect(await gateway.ok('/v1/extend', { body: lost })).toMatchObject({ results: [{ status: 'stale' }] });
    expect(await gateway.refusal(`${MESSAGES}/ack`)).toEqual([404, 'MESSAGE_NOT_FOUND']);
    expect(await gateway.ok(`${MESSAGES}/retry`)).toMatchObject({
      state: 'scheduled',
      attempts: 1,
      failure: { message: 'busy' },
    });
    expect(await gateway.ok(`${MESSAGES}/dead`)).toMatchObject({
      state: 'dead',
      failure: { message: 'no such order' },
    });
    expect(await gateway.receive()).toMatchObject([{ id: 'release', attempt: 1 }]);
  });

  it('delivers at most once with a lease of 0, and takes earlier topics first', async () => {
    const gateway = await open(kind);
    await publish(gateway, { payload: 1, id: 'gone' });
    const [gone] = await gateway.receive('jobs', { lease: 0 });
    expect(gone).toMatchObject({ id: 'gone', lease: 0 });
    await publish(gateway, { payload: 1, id: 'late' });
    await gateway.ok('/v1/topics/mail/messages', { body: { payload: 1, id: 'first' } });
    const { messages } = await gateway.ok('/v1/receive', { body: { topics: ['mail', 'jobs'], max: 2, wait: '5s' } });
    expect(messages).toMatchObject([{ id: 'first' }, { id: 'late' }]);
  });

  it('keeps schedules', async () => {
    const gateway = await open(kind);
    const at = '/v1/schedules/report%2Fdaily';
    const schedule = {
      topic: 'jobs',
      payload: { of: 1 },
      cron: '0 6 * * *',
      startAt: '2030-01-01T00:00:00Z',
      options: { tags: ['r'] },
    };
    const stored = await gateway.ok(at, { method: 'PUT', body: schedule });
    expect(stored).toMatchObject({
      id: 'report/daily',
      topic: 'jobs',
      cron: '0 6 * * *',
      next: '2030-01-01T06:00:00.000Z',
      paused: false,
    });
    expect(await gateway.ok(at)).toEqual(stored);
    expect(await gateway.ok('/v1/schedules?topic=jobs')).toEqual({ schedules: [stored], failed: [] });
    expect(await gateway.ok('/v1/schedules?topic=mail')).toEqual({ schedules: [], failed: [] });
    expect(await gateway.ok(`${at}/pause`, { method: 'POST' })).toMatchObject({ paused: true });
    expect(await gateway.ok(`${at}/resume`, { method: 'POST' })).toMatchObject({ paused: false });
    expect(await gateway.ok(`${at}/run`, { method: 'POST' })).toMatchObject({ topic: 'jobs', duplicate: false });
    expect(await gateway.receive()).toMatchObject([{ payload: { of: 1 } }]);
    expect(await gateway.ok(at, { method: 'DELETE' })).toEqual({ removed: true });
    for (const [method, path] of [
      ['GET', at],
      ['DELETE', at],
      ['POST', `${at}/run`],
    ] as const) {
      expect(await gateway.refusal(path, { method })).toEqual([404, 'SCHEDULE_NOT_FOUND']);
    }
  });

  it('takes nearly 1 MiB as it is, and refuses more', async () => {
    const gateway = await open(kind);
    // Characters that need escaping make it twice as long on its way.
    const payload = '"'.repeat(1024 * 512 - 200);
    await publish(gateway, { payload, id: 'large' });
    expect((await gateway.receive())[0]?.['payload']).toBe(payload);
    expect(await gateway.refusal(MESSAGES, { body: { payload: `${payload}${'"'.repeat(400)}` } })).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
  });

  it('refuses with the code and the status of what is wrong', async () => {
    const orders = topic('jobs', { schema: z.object({ order: z.string() }) });
    const gateway = await open(kind, { topics: [orders, 'mail'] });
    const good = { payload: { order: '1' }, id: 'one', delay: '1h' };
    await publish(gateway, good);
    const refusals: [string, object, number, string][] = [
      [MESSAGES, { body: { payload: { order: '1' }, delai: '1h' } }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: { payload: { order: '1' }, delay: 'soon' } }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: { payload: { order: '1' }, deliverAt: '2030-02-30T00:00:00Z' } }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: {} }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: [] }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: { messages: [] } }, 400, 'INVALID_ARGUMENT'],
      [MESSAGES, { body: { payload: { order: 1 } } }, 400, 'INVALID_PAYLOAD'],
      [MESSAGES, { body: good }, 409, 'DUPLICATE_MESSAGE'],
      [`${MESSAGES}?a=1`, { body: good }, 400, 'INVALID_ARGUMENT'],
      [`${MESSAGES}/x?key=1&key=2`, {}, 400, 'INVALID_ARGUMENT'],
      [
        MESSAGES,
        { body: 'payload=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
        415,
        kind === 'Fastify' ? 'any' : 'UNSUPPORTED_MEDIA_TYPE',
      ],
      ['/v1/topics/others/messages', { body: good }, 404, 'TOPIC_NOT_SERVED'],
      ['/v1/receive', { body: { topics: ['mail', 'others'] } }, 404, 'TOPIC_NOT_SERVED'],
      ['/v1/topics/jobs/receive', { body: { wait: '2m' } }, 400, 'INVALID_ARGUMENT'],
      ['/v1/settle', { body: { receipt: 'x', outcome: 'ack' } }, 400, 'INVALID_ARGUMENT'],
      ['/v1/settle', { method: 'POST' }, 400, 'INVALID_ARGUMENT'],
      ['/v1/nothing', {}, 404, kind === 'standalone' ? 'NOT_FOUND' : 'any'],
      ['/v1/settle', {}, 405, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [path, sent, status, code] of refusals) {
      const answer = await gateway.send(path, sent);
      const { content, headers } = answer;
      expect([path, sent, answer.status]).toEqual([path, sent, status]);
      if (code === 'any') continue;
      expect([path, sent, content['code']]).toEqual([path, sent, code]);
      expect(headers.get('content-type')).toBe('application/problem+json');
      const type = `urn:nestjs-delay-queue:problem:${code.toLowerCase().replaceAll('_', '-')}`;
      expect(content).toMatchObject({ type, status, title: expect.any(String), detail: expect.any(String) });
    }
    expect((await gateway.send('/v1/settle')).headers.get('allow')).toBe('POST');
    expect(await gateway.ok('/v1/topics/jobs/stats')).toMatchObject({ scheduled: 1 });
  });

  it('says that too few replicas have confirmed a message', async () => {
    const gateway = await open(kind);
    const body = { payload: 1, replicas: { min: 1, timeout: '50ms' } };
    expect(await gateway.refusal(MESSAGES, { body })).toEqual([503, 'NOT_REPLICATED']);
  });

  it('says which of many is wrong', async () => {
    const gateway = await open(kind);
    const detailOf = async (path: string, body: object) => (await gateway.send(path, { body })).content['detail'];
    expect(await detailOf(MESSAGES, { messages: [{ payload: 1 }, { payload: 1, attempts: 'x' }] })).toMatch(
      /^messages\[1\]\.attempts must be a whole number from 1 to 1000. Given: 'x'/,
    );
    expect(await detailOf('/v1/settle', { settlements: [{ receipt: 'x', outcome: 'ack' }] })).toMatch(
      /^settlements\[0\]: A receipt must be/,
    );
    expect(await detailOf(MESSAGES, { payload: 1, backoff: { type: 'exponential', dely: 1, delay: 1 } })).toMatch(
      /'dely' in backoff\. Did you mean 'delay'\?/,
    );
  });

  it('tells a stranger nothing of its own faults and of where Redis is', async () => {
    const failing = topic('jobs', {
      schema: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => {
            throw new Error('password');
          },
        },
      },
    });
    const gateway = await open(kind, { topics: [failing, 'mail'] });
    const { status, content } = await gateway.send(MESSAGES, { body: { payload: 1 } });
    expect([status, content['code']]).toEqual([500, 'INTERNAL']);
    expect(JSON.stringify(content)).not.toContain('password');
  });
});

describe('the gateway in an application', () => {
  it('refuses a topic that others have with another number of partitions', async () => {
    const gateway = await open('Express');
    await bed.start({ options: { topics: { mail: { partitions: 5 } } } });
    expect(await gateway.refusal('/v1/topics/mail/messages', { body: { payload: 1 } })).toEqual([409, 'CONFIGURATION']);
  });
});
