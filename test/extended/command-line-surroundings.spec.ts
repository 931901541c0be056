import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { type PackedProgram, installProgram } from '../support/cli/packed-program.js';
import type { Outcome } from '../support/cli/run-in-process.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import { PRIMARY, startSentinel } from '../support/servers/redis-sentinel.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { startTlsServer } from '../support/servers/tls-server.js';
import { until } from '../support/waiting.js';

const bed = useCliBed('test', async (filled) =>
  filled.publish([
    { payload: { orderId: '1' }, options: { id: '1', delay: '1h' } },
    { payload: { orderId: '2' }, options: { id: '2', delay: '2h' } },
  ]),
);
let program: PackedProgram;

beforeAll(async () => {
  program = await installProgram();
});

describe('on a terminal', () => {
  it('asks for the name of the topic, and takes nothing else', async () => {
    const typed = async (answer: string): Promise<Outcome> =>
      program.onTerminal(['drain', TOPIC], {
        env: bed.env,
        during: async (process) => {
          await until('it to ask', () => process.stdout.includes('Type the name of the topic to go on: '));
          process.child.stdin?.write(answer);
        },
      });
    expect(await typed('y\n')).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('Nothing was changed.') as string,
    });
    expect(await typed('\u0003')).toMatchObject({ code: 4 });
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: 2 });
    expect(await typed(`${TOPIC}\n`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2 waiting messages removed.') as string,
    });
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: 0 });
  });

  it.each([
    { env: {}, coloured: true },
    { env: { NO_COLOR: '1' }, coloured: false },
    { env: { TERM: 'dumb' }, coloured: false },
  ])('has colours with $env: $coloured', async ({ env, coloured }) => {
    const { stdout } = await program.onTerminal(['stats', TOPIC], {
      env: { TERM: 'xterm-256color', ...bed.env, ...env },
      during: ({ child }) => void child.stdin?.end(),
    });
    expect(stdout.includes('\u001B[')).toBe(coloured);
  });
});

describe('in a shell', () => {
  it('takes the end of what reads it for enough', async () => {
    const { code, stdout, stderr } = await program.shell(
      `nestjs-delay-queue top --interval 500ms --json | head -1; exit \${PIPESTATUS[0]}`,
      { env: bed.env },
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ topics: [{ topic: TOPIC }] });
  });

  it.each([
    { line: 'nestjs-delay-queue re', found: ['reschedule', 'requeue', 'remove', 'resume'] },
    { line: 'nestjs-delay-queue stats ', found: [TOPIC] },
    { line: 'nestjs-delay-queue --json peek order', found: [TOPIC] },
    { line: `nestjs-delay-queue peek ${TOPIC} --state `, found: ['scheduled', 'due', 'in-flight', 'dead', 'finished'] },
    { line: 'nestjs-delay-queue requeue --fin', found: ['--fingerprint'] },
    { line: 'nestjs-delay-queue stats --redis redis://127.0.0.1:1 ', found: [] },
    { line: 'nestjs-delay-queue completion z', found: ['zsh'] },
  ])('is completed by bash: $line', async ({ line, found }) => {
    const asked = `
      eval "$(nestjs-delay-queue completion bash)"
      COMP_LINE='${line}' COMP_POINT=${line.length}
      _nestjs_delay_queue
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await program.shell(asked, { env: bed.env });
    expect([stdout.split('\n').filter(Boolean), stderr]).toEqual([found, '']);
  });
});

/** Publishes a message, and resolves with what is found of it. */
async function publishAndFind(options: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> {
  const all = { env: { ...env, DELAY_QUEUE_PREFIX: bed.prefix } };
  const published = await program.run(['publish', 'jobs', '1', '--id', 'a', '--delay', '1h', ...options], all);
  if (published.code !== 0) return published;
  return JSON.parse((await program.run(['get', 'jobs', 'a', '--json', ...options], all)).stdout) as unknown;
}

const FOUND = { id: 'a', state: 'scheduled' };

describe('which Redis', () => {
  const PASSWORD = 's3cret';
  let redis: PrivateRedis;
  let folder = '';

  beforeAll(async () => {
    redis = await startRedis();
    await redis.ask(async (root) => root.call('ACL', 'SETUSER', 'operator', 'on', `>${PASSWORD}`, '~*', '&*', '+@all'));
    folder = await mkdtemp(join(inject('runFolder'), 'which-redis-'));
  });

  afterAll(async () => {
    await redis.stop();
  });

  it('has a user, a password and a database', async () => {
    expect(await publishAndFind(['--redis', `redis://operator:${PASSWORD}@127.0.0.1:${redis.port}/3`])).toMatchObject(
      FOUND,
    );
    expect(await redis.ask(async (client) => client.info('keyspace'))).toContain('db3:');
    const wrong = await program.run(['stats', '--redis', `redis://operator:wr0ng@127.0.0.1:${redis.port}`], {});
    expect(wrong.code).toBe(5);
    expect(wrong.stderr).toMatch(/refused the user name or password/);
    expect(wrong.stderr).not.toContain('wr0ng');
  });

  it('speaks TLS', async () => {
    const tls = await startTlsServer(redis.port);
    const settings = { port: tls.port, tls: { rejectUnauthorized: false } };
    expect(await publishAndFind(['--redis', JSON.stringify(settings)])).toMatchObject(FOUND);
    const untrusted = await program.run(['stats', '--redis', `rediss://127.0.0.1:${tls.port}`], {});
    expect([untrusted.code, untrusted.stderr]).toEqual([3, expect.stringMatching(/^error: .*certificate/)]);
    await tls.stop();
  });

  it('is found by Sentinels, from a file', async () => {
    const sentinel = await startSentinel(redis);
    const file = join(folder, 'sentinels.json');
    await writeFile(file, JSON.stringify({ sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: PRIMARY }));
    expect(await publishAndFind(['--redis', `@${file}`])).toMatchObject(FOUND);
    await sentinel.stop();
  });

  describe('is a Cluster', () => {
    let cluster: PrivateCluster;

    beforeAll(async () => {
      cluster = await startRedisCluster();
    });

    afterAll(async () => {
      await cluster.stop();
    });

    it('said by the environment', async () => {
      expect(await publishAndFind([], { DELAY_QUEUE_REDIS: JSON.stringify({ nodes: cluster.nodes }) })).toMatchObject(
        FOUND,
      );
    });

    it('of which one node alone was given: the error says what to give', async () => {
      const [node] = cluster.nodes;
      const { code, stderr } = await program.run(
        ['publish', 'jobs', '1', '--redis', `redis://127.0.0.1:${node?.port}`],
        {},
      );
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/Cluster|cluster/);
    });
  });
});
