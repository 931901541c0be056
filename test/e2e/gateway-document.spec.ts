import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../lib/gateway/problem.js';
import { ROUTES } from '../../lib/gateway/routes.js';
import { useBed } from '../support/app/bed.js';
import { type GatewayAnswer, type Sent, useGateways } from '../support/app/gateway.js';

const bed = useBed();
const open = useGateways(bed);

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, object>> }>>;
  };
}

/** What is not in the document is refused, so that no answer has more than it says. */
function strict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strict);
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, strict(part)]));
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...schema, additionalProperties: false }
    : schema;
}

/** Says what is wrong with an answer by the document; empty if it is as it says. */
function check(document: Document, name: string, { status, headers, content }: GatewayAnswer): string {
  const operation = Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .find(({ operationId }) => operationId === name);
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const schema = operation?.responses[status]?.content[type]?.schema;
  if (!schema) return `${name} has no answer ${status} of ${type}`;
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  (formats as unknown as (target: Ajv2020) => void)(ajv);
  // A problem is described by two schemas at once.
  const isProblem = status >= 300;
  const validate = ajv.compile({
    ...((isProblem ? schema : strict(schema)) as object),
    components: isProblem ? document.components : strict(document.components),
  });
  return validate(content) ? '' : `${name} ${status}: ${ajv.errorsText(validate.errors)} ${JSON.stringify(content)}`;
}

describe.each(['Express', 'standalone'] as const)('the document of the gateway (%s)', (kind) => {
  it('is OpenAPI 3.1 and has every route', async () => {
    const gateway = await open(kind);
    const document = (await gateway.ok('/openapi.json')) as unknown as Document;
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect([valid, errors]).toEqual([true, undefined]);
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const own = ['GET /openapi.json', ...(kind === 'standalone' ? ['GET /health'] : [])];
    expect(documented.toSorted()).toEqual(
      [...ROUTES.map(({ method, path }) => `${method} ${path}`), ...own].toSorted(),
    );
    const text = JSON.stringify(document);
    for (const code of Object.keys(PROBLEMS)) expect(text).toContain(code);
  });

  it('describes what is answered', async () => {
    const gateway = await open(kind);
    const document = (await gateway.ok('/openapi.json')) as unknown as Document;
    const seen = new Set<string>();
    const faults: string[] = [];
    const send = async (name: string, path: string, sent: Sent = {}): Promise<GatewayAnswer> => {
      const answer = await gateway.send(path, sent);
      seen.add(name);
      const fault = check(document, name, answer);
      if (fault !== '') faults.push(fault);
      return answer;
    };
    const messages = '/v1/topics/jobs/messages';
    await send('publish', messages, { body: { payload: 1, id: 'one', delay: '1h' } });
    await send('publish', messages, { body: { payload: 1, id: 'one' } });
    await send('publish', messages, {
      body: {
        messages: [
          { payload: 1, id: 'one' },
          { payload: 2, id: 'two' },
        ],
      },
    });
    await send('publish', messages, { body: { messages: [{ payload: 1, tags: ['x'], delay: '1h' }] } });
    await send('getMessage', `${messages}/one`);
    await send('getMessage', `${messages}/none`);
    await send('explainMessage', `${messages}/one/explain`);
    await send('explainMessage', `${messages}/none/explain`);
    await send('rescheduleMessage', `${messages}/one`, { method: 'PATCH', body: { delay: '2h' } });
    await send('cancelMessage', `${messages}/one`, { method: 'DELETE' });
    await send('cancelTagged', `${messages}?tag=x`, { method: 'DELETE' });
    const { content } = await send('receive', '/v1/topics/jobs/receive', { body: { wait: '5s' } });
    const [{ receipt } = {}] = content['messages'] as { receipt?: string }[];
    await send('extend', '/v1/extend', { body: { receipt, lease: '1m' } });
    await send('extend', '/v1/extend', { body: { extensions: [{ receipt, lease: '1m' }] } });
    await send('explainMessage', `${messages}/two/explain`);
    await send('settle', '/v1/settle', { body: { settlements: [{ receipt, outcome: 'dead', reason: 'no' }] } });
    await send('settle', '/v1/settle', { body: { receipt, outcome: 'ack' } });
    await send('getMessage', `${messages}/two`);
    await send('explainMessage', `${messages}/two/explain`);
    await send('publish', '/v1/topics/mail/messages', { body: { payload: null } });
    await send('receiveFrom', '/v1/receive', { body: { topics: ['mail'], lease: 0, wait: '5s' } });
    await send('listTopics', '/v1/topics');
    await send('getTopicStats', '/v1/topics/jobs/stats');
    await send('putSchedule', '/v1/schedules/s', {
      method: 'PUT',
      body: { topic: 'jobs', payload: 1, every: '1h', endAt: 4e12 },
    });
    await send('getSchedule', '/v1/schedules/s');
    await send('listSchedules', '/v1/schedules');
    await send('pauseSchedule', '/v1/schedules/s/pause', { method: 'POST' });
    await send('resumeSchedule', '/v1/schedules/s/resume', { method: 'POST' });
    await send('runSchedule', '/v1/schedules/s/run', { method: 'POST' });
    await send('deleteSchedule', '/v1/schedules/s', { method: 'DELETE' });
    await send('deleteSchedule', '/v1/schedules/s', { method: 'DELETE' });
    if (kind === 'standalone') await send('getHealth', '/health');
    expect(faults).toEqual([]);
    expect(ROUTES.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
  });
});
