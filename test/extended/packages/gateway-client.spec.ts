import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, TOKEN } from '../../support/gateway/gateway.js';
import { startStandaloneGateway } from '../../support/gateway/standalone-gateway.js';
import { install } from '../../support/package/npm-install.js';
import { onceARun } from '../../support/package/once-a-run.js';
import { runProgram } from '../../support/package/run-program.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';

/** What somebody writes who has the document and a generator. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
const at = { params: { path: { topic: 'jobs' } } } as const;

// @ts-expect-error a colleague's typo
void (async () => client.POST('/v1/topics/{topic}/mesages', { ...at, body: { payload: 1 } }));

const published = await client.POST('/v1/topics/{topic}/messages', { ...at, body: { payload: { n: 1 }, id: 'a' } });
if (!published.data || 'messages' in published.data) throw new Error(JSON.stringify(published.error));
const received = await client.POST('/v1/topics/{topic}/receive', { ...at, body: { wait: '10s', lease: '1m' } });
const [message] = received.data?.messages ?? [];
if (!message) throw new Error(JSON.stringify(received.error));
const { data: settled } = await client.POST('/v1/settle', { body: { receipt: message.receipt, outcome: 'ack' } });
const status = settled && 'status' in settled ? settled.status : undefined;
const refused = await client.POST('/v1/topics/{topic}/messages', { params: { path: { topic: 'b' } }, body: { payload: 1 } });
console.log(JSON.stringify([published.data.id, message.payload, status, refused.error?.code]));
`;

let redis: PrivateRedis;
let gateway: Gateway;

beforeAll(async () => {
  redis = await startRedis();
  gateway = await startStandaloneGateway({ redisUrl: redis.url, topics: ['jobs'] });
}, 60_000);

afterAll(async () => {
  await gateway?.close();
  await redis?.stop();
});

it(
  'a client that is generated from the document compiles, publishes, receives and settles',
  { timeout: 180_000 },
  async () => {
    const folder = await onceARun('gateway-client', async (target) =>
      install(target, {
        'openapi-typescript': '^7.0.0',
        'openapi-fetch': '>=0.17.0',
        typescript: '~5.9.0',
        '@types/node': '^20.0.0',
      }),
    );
    await writeFile(join(folder, 'client.ts'), PROGRAM);
    await writeFile(join(folder, 'openapi.json'), await (await fetch(`${gateway.url}/openapi.json`)).text());
    await runProgram('node_modules/.bin/openapi-typescript', ['openapi.json', '-o', 'api.ts'], { cwd: folder });
    const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--skipLibCheck', '--types', 'node'];
    await runProgram('node_modules/.bin/tsc', [...options, 'client.ts'], { cwd: folder });

    const printed = await runProgram(process.execPath, ['client.js', gateway.url, TOKEN], { cwd: folder });
    expect(JSON.parse(printed)).toEqual(['a', { n: 1 }, 'settled', 'TOPIC_NOT_SERVED']);
  },
);
