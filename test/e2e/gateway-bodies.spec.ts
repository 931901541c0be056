import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { gzipSync } from 'node:zlib';
import type { INestApplication } from '@nestjs/common';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { type Content, GATEWAY_KINDS, HTTP_2, useGateways } from '../support/app/gateway.js';
import { CORPUS, type CorpusRow, around, saysWhere } from '../support/json-corpus/corpus.js';

const bed = useBed();
const open = useGateways(bed);

const MESSAGES = '/v1/topics/jobs/messages';
const RECEIVE = '/v1/topics/jobs/receive';
const LOST = '{"payload":{"a":9007199254740993}}';

/** Sends a request over HTTP/2, without its length. */
async function connect(url: string): Promise<(path: string, body: Buffer | string) => Promise<[number, Content]>> {
  const session = http2.connect(url);
  onTestFinished(() => session.destroy());
  return async (path, body) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      authorization: 'Bearer all',
      'content-type': 'application/json',
    });
    stream.end(body);
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += chunk;
    return [Number(headers[':status']), JSON.parse(text) as Content];
  };
}

/** What was wrong with what became of the texts. */
async function wrongOf(rows: readonly CorpusRow[], isRight: (row: CorpusRow, id: number) => Promise<boolean>) {
  const wrong: string[] = [];
  for (let i = 0; i < rows.length; i += 20) {
    const some = rows.slice(i, i + 20);
    const rights = await Promise.all(some.map(async (row, j) => isRight(row, i + j)));
    wrong.push(...some.filter((_, j) => !rights[j]).map(({ content }) => content.toString().slice(0, 60)));
  }
  return wrong;
}

function isRefused({ status, content }: { status: number; content: Content }, row: CorpusRow): boolean {
  const { code, detail } = content;
  return status === 400 && code === (row.json ? 'SERIALIZATION' : 'INVALID_JSON') && saysWhere(String(detail), row);
}

describe.each(GATEWAY_KINDS)('bodies at the gateway (%s)', (kind) => {
  it('keeps each text of JSON equal, or refuses it by its path', async () => {
    const gateway = await open(kind);
    const published = await wrongOf(CORPUS, async (row, id) => {
      const sent = await gateway.send(MESSAGES, { body: around(row, `"id":"${id}",`) });
      return row.kept ? sent.status === 201 : isRefused(sent, row);
    });
    const schedules = await wrongOf(CORPUS, async (row, id) => {
      const body = around(row, '"topic":"mail","every":"1d",');
      const sent = await gateway.send(`/v1/schedules/${id}`, { method: 'PUT', body });
      return row.kept ? sent.status < 300 : isRefused(sent, row);
    });
    expect([published, schedules]).toEqual([[], []]);
    const left = new Map(CORPUS.map((row, id) => [String(id), row] as const).filter(([, { kept }]) => kept));
    while (left.size > 0) {
      for (const { id, payload } of await gateway.receive('jobs', { max: 100 })) {
        const { content } = await gateway.send(`${MESSAGES}/${String(id)}`);
        const expected = JSON.parse(String(left.get(String(id))?.content)) as unknown;
        expect([payload, content['payload']]).toEqual([expected, expected]);
        left.delete(String(id));
      }
    }
  });

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

it('reads bodies of HTTP/2, and leaves with their receiver what was received', async () => {
  const gateway = await open(HTTP_2);
  const send = await connect(gateway.url);
  const wrong = await wrongOf(CORPUS, async (row) => {
    const [status, content] = await send(MESSAGES, around(row, '"delay":"1h",'));
    return row.kept ? status === 201 : isRefused({ status, content }, row);
  });
  expect(wrong).toEqual([]);
  await send(MESSAGES, '{"payload":1,"id":"one"}');
  const [, { messages }] = await send(RECEIVE, '{"wait":"5s","lease":"1m"}');
  const [message] = messages as [Content];
  expect(message).toMatchObject({ id: 'one', payload: 1 });
  expect(await send(RECEIVE, '{"wait":"100ms"}')).toEqual([200, { messages: [] }]);
  const settlement = JSON.stringify({ receipt: message['receipt'], outcome: 'ack' });
  expect(await send('/v1/settle', settlement)).toMatchObject([200, { status: 'settled' }]);
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
