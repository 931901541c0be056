import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { gzipSync } from 'node:zlib';
import type { INestApplication } from '@nestjs/common';
import { afterEach, describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { type Content, GATEWAY_KINDS, HTTP_2, useGateways } from '../support/app/gateway.js';
import { around } from '../support/json-corpus/corpus.js';
import { type Door, type DoorAnswer, wrongAt } from '../support/json-corpus/doors.js';

const bed = useBed();
const open = useGateways(bed);
const sessions: http2.ClientHttp2Session[] = [];

// Before the gateways are closed, which wait for them.
afterEach(() => sessions.splice(0).forEach((session) => session.destroy()));

const MESSAGES = '/v1/topics/jobs/messages';
const RECEIVE = '/v1/topics/jobs/receive';
const SCHEDULES = '/v1/schedules';
const LOST = '{"payload":{"a":9007199254740993}}';

type Kind = (typeof GATEWAY_KINDS)[number] | typeof HTTP_2;

/** Sends a request over the version of HTTP that a gateway speaks. */
type Send = (method: string, path: string, body?: Buffer | string) => Promise<{ status: number; content: Content }>;

async function senderTo(kind: Kind): Promise<Send> {
  const gateway = await open(kind);
  if (kind === HTTP_2) return overHttp2(gateway.url);
  return async (method, path, body) => gateway.send(path, { method, ...(body !== undefined && { body }) });
}

/** Without the length of a body. */
function overHttp2(url: string): Send {
  const session = http2.connect(url);
  sessions.push(session);
  return async (method, path, body) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const stream = session.request({ ':method': method, ':path': path, authorization: 'Bearer all', ...type });
    stream.end(body);
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += chunk;
    return { status: Number(headers[':status']), content: JSON.parse(text) as Content };
  };
}

async function receiveAll(send: Send, count: number): Promise<Content[]> {
  const received: Content[] = [];
  while (received.length < count) {
    const { content } = await send('POST', RECEIVE, '{"max":100,"wait":"5s","lease":"5m"}');
    received.push(...(content['messages'] as Content[]));
  }
  return received;
}

/** The rest is as for payloads, if it is left out. */
type GatewayDoor = Omit<Door, 'place' | 'noJson'> & Partial<Pick<Door, 'place'>>;

/** Where payloads and errors come in, each with all places where they come out. */
const DOORS: Readonly<Record<string, (send: Send) => GatewayDoor>> = {
  publish: (send) => ({
    put: async (row, id) => answerTo(send('POST', MESSAGES, around(row, `{"id":"${id}","payload":`))),
    async out(ids) {
      const received = await receiveAll(send, ids.length);
      return [
        ...received.map(({ id, payload }) => [String(id), payload] as const),
        ...(await lookUp(send, ids, MESSAGES)),
      ];
    },
  }),
  replace: (send) => ({
    async prepare(ids) {
      const messages = ids.map((id) => ({ id, payload: 'before', delay: '1h' }));
      await send('POST', MESSAGES, JSON.stringify({ messages }));
    },
    put: async (row, id) =>
      answerTo(send('POST', MESSAGES, around(row, `{"id":"${id}","onDuplicate":"replace","delay":"1h","payload":`))),
    out: async (ids) => lookUp(send, ids, MESSAGES),
  }),
  'a schedule': (send) => ({
    put: async (row, id) =>
      answerTo(send('PUT', `${SCHEDULES}/${id}`, around(row, '{"topic":"mail","every":"1d","payload":'))),
    out: async (ids) => lookUp(send, ids, SCHEDULES),
  }),
  'the error of a settle': (send) => {
    const receipts = new Map<string, string>();
    return {
      place: 'error.message',
      takes: (value) => typeof value === 'string',
      async prepare(ids) {
        await send('POST', MESSAGES, JSON.stringify({ messages: ids.map((id) => ({ id, payload: 1 })) }));
        for (const { id, receipt } of await receiveAll(send, ids.length)) receipts.set(String(id), String(receipt));
      },
      async put(row, id) {
        const before = `{"receipt":"${receipts.get(id)}","outcome":"dead","error":{"name":"E","message":`;
        return answerTo(send('POST', '/v1/settle', around(row, before, '}}')));
      },
      async out(ids) {
        const letters = ids.map(async (id) => (await send('GET', `${MESSAGES}/${id}`)).content['failure'] as Content);
        return (await Promise.all(letters)).map(({ message }, i) => [ids[i] as string, message] as const);
      },
    };
  },
};

async function answerTo(sending: ReturnType<Send>): Promise<DoorAnswer> {
  const { status, content } = await sending;
  return { status, code: content['code'], detail: content['detail'] };
}

async function lookUp(send: Send, ids: readonly string[], path: string): Promise<(readonly [string, unknown])[]> {
  const found = await Promise.all(ids.map(async (id) => send('GET', `${path}/${id}`)));
  return found.map(({ content }, i) => [ids[i] as string, content['payload']] as const);
}

describe.each<Kind>([...GATEWAY_KINDS, HTTP_2])('texts of JSON at the gateway (%s)', (kind) => {
  it.each(Object.entries(DOORS))('come back equal, or are refused by their path: %s', async (_, doorOf) => {
    expect(await wrongAt({ place: 'payload', noJson: 'INVALID_JSON', ...doorOf(await senderTo(kind)) })).toEqual([]);
  });
});

describe.each(GATEWAY_KINDS)('bodies at the gateway (%s)', (kind) => {
  it.each<[what: string, path: string, body: string | Buffer, headers: Record<string, string>, answer: unknown]>([
    ['no body', MESSAGES, '', {}, [400, 'INVALID_ARGUMENT']],
    [
      'what is packed',
      MESSAGES,
      gzipSync('{"payload":1}'),
      { 'content-encoding': 'gzip' },
      [415, 'UNSUPPORTED_MEDIA_TYPE'],
    ],
    ['text', MESSAGES, '{"payload":1}', { 'content-type': 'text/plain' }, [415, 'UNSUPPORTED_MEDIA_TYPE']],
    ['more than the limit', MESSAGES, `{"payload":"${'x'.repeat(300_000)}"}`, {}, [413, 'BODY_TOO_LARGE']],
    ['no body where it may be left out', RECEIVE, '', {}, [200, 'undefined']],
  ])('answers the same everywhere to %s', async (_, path, body, headers, answer) => {
    const gateway = await open(kind, { maxBody: 200_000 });
    expect(await gateway.refusal(path, { body, headers })).toEqual(answer);
    expect(await gateway.refusal(MESSAGES, { body: `{"payload":"${'x'.repeat(190_000)}"}` })).toEqual([
      201,
      'undefined',
    ]);
  });

  it('refuses lists and headers that are far too long as one fault', async () => {
    const gateway = await open(kind);
    const many = '1,'.repeat(1_000_000);
    const headers = JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [i, i])));
    for (const body of [
      `{"messages":[${many}1]}`,
      `{"payload":1,"tags":[${many}1]}`,
      `{"payload":1,"headers":${headers}}`,
    ]) {
      expect(await gateway.refusal(MESSAGES, { body })).toEqual([400, 'INVALID_ARGUMENT']);
    }
    const kept = JSON.parse('{"__proto__":"1","a":"2"}') as object;
    const { id } = await gateway.ok(MESSAGES, { body: { payload: 1, headers: kept, delay: '1h' } });
    expect((await gateway.ok(`${MESSAGES}/${String(id)}`))['headers']).toEqual(kept);
  });
});

it('leaves with their receiver what was received over HTTP/2', async () => {
  const send = await senderTo(HTTP_2);
  await send('POST', MESSAGES, '{"payload":1,"id":"one"}');
  const [message] = await receiveAll(send, 1);
  expect(message).toMatchObject({ id: 'one', payload: 1 });
  expect(await send('POST', RECEIVE, '{"wait":"100ms"}')).toEqual({ status: 200, content: { messages: [] } });
  const settlement = JSON.stringify({ receipt: message?.['receipt'], outcome: 'ack' });
  expect(await send('POST', '/v1/settle', settlement)).toMatchObject({ content: { status: 'settled' } });
});

/** Has the application read all bodies by itself, before its parsers. */
function reading(more: (bytes: Buffer) => object): (nest: INestApplication) => void {
  return (nest) =>
    nest.use(async (request: IncomingMessage, _: unknown, next: () => void) => {
      const bytes = Buffer.concat((await request.toArray()) as Buffer[]);
      Object.assign(request, { body: JSON.parse(bytes.toString()) as unknown, ...more(bytes) });
      next();
    });
}

describe('an application that reads bodies by itself', () => {
  it('has the bytes taken if it keeps them', async () => {
    const gateway = await open('Express', { prepare: reading((rawBody) => ({ rawBody })) });
    const { content } = await gateway.send(MESSAGES, { body: LOST });
    expect(content['detail']).toContain('payload.a is 9007199254740993,');
  });

  it('has refused what may have been another number before', async () => {
    const gateway = await open('Express', { prepare: reading(() => ({})) });
    expect(await gateway.refusal(MESSAGES, { body: LOST })).toEqual([400, 'SERIALIZATION']);
    expect(await gateway.refusal(MESSAGES, { body: '{"payload":1}' })).toEqual([201, 'undefined']);
  });

  it('keeps its parsers for its own routes', async () => {
    const read: unknown[] = [];
    const gateway = await open('Express', {
      prepare: (nest) => {
        (nest as unknown as { useBodyParser: (type: string) => void }).useBodyParser('json');
        nest.use(
          '/own/v1/topics/jobs/messages',
          ({ body }: { body: unknown }, response: { end: (text: string) => void }) => {
            read.push(body);
            response.end('{}');
          },
        );
      },
    });
    await gateway.send('/own/v1/topics/jobs/messages', { body: { a: 1 } });
    expect(read).toEqual([{ a: 1 }]);
  });
});
