import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { type PackedProgram, type RunningProgram, installProgram } from '../support/cli/packed-program.js';
import type { Outcome } from '../support/cli/run-in-process.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

/** Each command as it works on the bed of a test, what a person gets to see, and what its document has. */
const COMMANDS: Readonly<Record<string, { args: string; shows: RegExp; document: object }>> = {
  topics: { args: '', shows: /^order\.timeout$/m, document: { topics: [TOPIC] } },
  stats: { args: TOPIC, shows: /^scheduled +2, /m, document: { topic: TOPIC, scheduled: 2, dead: 2 } },
  top: { args: '--count 1', shows: /^order\.timeout +2 /m, document: { topics: [{ topic: TOPIC, rates: null }] } },
  peek: { args: TOPIC, shows: /^1 .*"orderId":"1"/m, document: { messages: [{ id: '1' }, { id: '2' }], cursor: null } },
  get: { args: `${TOPIC} 1`, shows: /^state +scheduled$/m, document: { id: '1', payload: { orderId: '1' } } },
  events: {
    args: `${TOPIC} --follow --kind published --count 1`,
    shows: / published order\.timeout '/,
    document: { kind: 'published' },
  },
  doctor: {
    args: '',
    shows: /connection: /,
    document: {
      findings: expect.arrayContaining([{ check: 'connection', level: 'ok', message: expect.any(String), advice: '' }]),
    },
  },
  publish: {
    args: `${TOPIC} 1 --id 9 --delay 1h`,
    shows: /^Message '9' is due /m,
    document: { id: '9', duplicate: false },
  },
  cancel: { args: `${TOPIC} 1`, shows: /is cancelled/, document: { id: '1', result: 'cancelled' } },
  reschedule: { args: `${TOPIC} 1 --delay 2h`, shows: /is rescheduled/, document: { id: '1', result: 'moved' } },
  'run-now': { args: `${TOPIC} 1`, shows: /is due/, document: { id: '1', result: 'moved' } },
  edit: { args: `${TOPIC} 1 {}`, shows: /is edited/, document: { id: '1', result: 'edited' } },
  dead: {
    args: `${TOPIC} --group`,
    shows: /^2 dead letters in 1 group$/m,
    document: { total: 2, groups: [{ count: 2 }] },
  },
  requeue: {
    args: `${TOPIC} --all --delay 1h`,
    shows: /^2 dead letters requeued/m,
    document: { matched: 2, changed: 2 },
  },
  remove: { args: `${TOPIC} --all --yes`, shows: /^2 dead letters removed/m, document: { matched: 2, changed: 2 } },
  pause: { args: TOPIC, shows: /is paused/, document: { topic: TOPIC, paused: true } },
  hold: { args: `${TOPIC} --for 1h`, shows: /is held until/, document: { topic: TOPIC } },
  resume: { args: TOPIC, shows: /neither paused nor held/, document: { topic: TOPIC, paused: false } },
  drain: { args: `${TOPIC} --yes`, shows: /^2 waiting messages removed/m, document: { matched: 2, changed: 2 } },
  purge: { args: `${TOPIC} --yes`, shows: /^2 dead letters removed/m, document: { matched: 2, changed: 2 } },
  acl: { args: 'operator', shows: /^ACL SETUSER operator on /m, document: { roles: [{ role: 'operator' }] } },
};

/** They ask no Redis. */
const ALONE = ['acl', 'completion', 'help'];

const MESSAGES = [
  { payload: { orderId: '1' }, options: { id: '1', delay: '1h' } },
  { payload: { orderId: '2' }, options: { id: '2', delay: '2h' } },
  { payload: { fail: 'There is no order 3' }, options: { id: '3' } },
  { payload: { fail: 'There is no order 4' }, options: { id: '4' } },
];

const bed = useCliBed('test', async (filled) => filled.publish(MESSAGES));
let program: PackedProgram;
let names: readonly string[];

beforeAll(async () => {
  program = await installProgram();
  const { stdout } = await program.run(['--help']);
  names = Array.from(stdout.split('\nCommands:\n')[1]?.matchAll(/^ {2}(\S+)/gm) ?? [], ([, name = '']) => name);
}, 60_000);

async function run(line: string, settings: Parameters<PackedProgram['run']>[1] = {}): Promise<Outcome> {
  return program.run(line.split(' ').filter(Boolean), { ...settings, env: { ...bed.env, ...settings.env } });
}

async function handleUntilItEnds({ child }: RunningProgram): Promise<void> {
  await bed.whileHandling(async (producer) => {
    while (child.exitCode === null) {
      await producer.publish(TOPIC, {});
      await setTimeout(50);
    }
  });
}

/** Names what the example takes for granted. */
async function tryExample(line: string): Promise<void> {
  const cwd = await mkdtemp(join(inject('runFolder'), 'example-'));
  const id = line.includes('publish') ? '42' : /requeue|remove/.test(line) ? '3' : '1';
  const ids = line.replaceAll(/\b42\b/g, id);
  const ends = /^nestjs-delay-queue (events|top$)/.test(line) ? `timeout -s INT 2 '${program.path}'` : '';
  const command = ends === '' ? ids : ids.replace('nestjs-delay-queue', ends);
  const { code, stderr } = await program.shell(`cd '${cwd}'; ${command}`, { env: bed.env });
  // 124: timeout says that it had to end it.
  expect([line, [0, 124].includes(code) || (line.includes('doctor') && code === 1), stderr]).toEqual([
    line,
    true,
    expect.not.stringContaining('error'),
  ]);
  await bed.close();
  await bed.open();
  await bed.publish(MESSAGES);
}

describe('every command', () => {
  it('is in the table of this file', () => {
    expect(names.filter((name) => !ALONE.includes(name) || name === 'acl')).toEqual(Object.keys(COMMANDS));
  });

  const forms = Object.keys(COMMANDS).flatMap((name) => [
    { name, json: false },
    { name, json: true },
  ]);

  it.each(forms)('does its work: $name, as JSON: $json', async ({ name, json }) => {
    const { args, shows, document } = COMMANDS[name] as (typeof COMMANDS)[string];
    const during = name === 'events' ? { during: handleUntilItEnds } : {};
    const { code, stdout, stderr } = await run(`${name} ${args} ${json ? '--json' : ''}`, during);

    // The Redis of the tests may lack something.
    expect(name === 'doctor' ? [0, 1] : [0]).toContain(code);
    const [document_, text] = json ? [JSON.parse(stdout) as object, ''] : [document, stdout];
    expect(document_).toMatchObject(document);
    expect(text).toMatch(json ? '' : shows);
    expect(json ? stderr : '').toBe('');
  });

  it('explains itself, with an example that works', async () => {
    for (const name of names.filter((each) => each !== 'help')) {
      const { code, stdout } = await run(`${name} --help`);
      expect([name, code, stdout]).toEqual([name, 0, expect.stringContaining(`Usage: nestjs-delay-queue ${name}`)]);
      const [, text = ''] = stdout.split('\nExample:\n');
      const examples = Array.from(text.matchAll(/^ {2}\$ npx (.+)$/gm), ([, line = '']) => line);
      expect([name, examples.length]).toEqual([name, expect.toSatisfy((count: number) => count > 0)]);
      for (const line of examples) await tryExample(line);
    }
  }, 120_000);

  it('ends with 2 for an option that there is not', async () => {
    for (const name of names.filter((each) => each !== 'help')) {
      const line = `${name} ${COMMANDS[name]?.args ?? 'bash'} --dealy 1h`;
      const [{ code, stdout, stderr }, json] = await Promise.all([run(line), run(`${line} --json`)]);
      expect([name, code, stdout]).toEqual([name, 2, '']);
      expect(stderr).toMatch(/^error: unknown option '--dealy'/);
      expect(stderr).not.toMatch(/^ +at /m);
      expect([json.code, json.stdout]).toEqual([2, '']);
      expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'USAGE' } });
    }
  }, 60_000);
});

describe('a Redis that is away', () => {
  const asking = Object.entries(COMMANDS).filter(([name]) => !ALONE.includes(name));

  it.each(asking)('refuses the connection: %s says so and ends with 3', async (name, { args }) => {
    const line = `${name} ${args} --redis redis://127.0.0.1:1`;
    const [{ code, stdout, stderr }, json] = await Promise.all([run(line), run(`${line} --json`)]);
    expect([code, `${stdout}${stderr}`]).toEqual([3, expect.stringContaining('127.0.0.1:1')]);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(json.code).toBe(3);
    const told = JSON.parse(name === 'doctor' ? json.stdout : json.stderr) as unknown;
    expect(told).toMatchObject(
      name === 'doctor' ? { findings: [{ check: 'connection' }] } : { error: { code: 'BROKER_UNAVAILABLE' } },
    );
  });

  describe('hangs', () => {
    let redis: PrivateRedis;

    beforeAll(async () => {
      redis = await startRedis();
      redis.signal('SIGSTOP');
    });

    afterAll(async () => {
      redis.signal('SIGCONT');
      await redis.stop();
    });

    it.each(asking)('%s ends with 3 in bounded time', async (name, { args }) => {
      const startedAt = performance.now();
      const { code, stderr } = await run(`${name} ${args} --redis ${redis.url} --redis-timeout 500ms`);
      expect(code).toBe(3);
      expect(stderr).not.toMatch(/^ +at /m);
      // Far more than the 1 s that it takes at most, and less than the default of 5 s and what follows on that.
      expect(performance.now() - startedAt).toBeLessThan(5000);
    });
  });

  it('is waited for by what follows events', async () => {
    const redis = await startRedis();
    const { stderr } = await run(`events --follow --redis ${redis.url}`, {
      during: async (process) => {
        await until('it to follow', () => process.stderr.includes('Following'));
        await redis.kill();
        await until('it to tell of the loss', () => process.stderr.includes('is lost'));
        await redis.start();
        await until('it to go on', () => process.stderr.includes('is back'));
        process.child.kill('SIGINT');
      },
    });
    expect(stderr).toMatch(/is lost: .*\n.*is back after/);
    await redis.stop();
  });
});

it('top goes on when Redis is back', async () => {
  const redis = await startRedis();
  const { code, stdout, stderr } = await run(`top --json --interval 500ms --redis ${redis.url} --redis-timeout 500ms`, {
    during: async (process) => {
      await until('a first look', () => process.stdout.includes('\n'));
      await redis.kill();
      await until('it to tell of the loss', () => process.stderr.includes('No answer from Redis in time'));
      await redis.start();
      const looks = process.stdout.split('\n').length;
      await until('it to go on', () => process.stdout.split('\n').length > looks);
      process.child.kill('SIGINT');
    },
  });
  expect([code, JSON.parse(stdout.trim().split('\n').at(-1) ?? '')]).toMatchObject([0, { topics: [] }]);
  expect(stderr).not.toMatch(/^ +at /m);
  await redis.stop();
});

describe('Ctrl-C', () => {
  it('ends a long work after the step under way, and says how far it came', async () => {
    await bed.publish(Array.from({ length: 40 }, () => ({ payload: { fail: 'again' } })));
    const { code, stdout, stderr } = await run('requeue order.timeout --all --rate 10 --delay 1h --json', {
      during: async ({ child }) => {
        await until('some to be requeued', async () => (await bed.admin.stats(TOPIC)).scheduled > 4);
        child.kill('SIGINT');
      },
    });
    expect(code).toBe(130);
    const { changed, ...rest } = JSON.parse(stdout) as { changed: number };
    expect(rest).toEqual({ topic: TOPIC, matched: expect.any(Number) as number, dryRun: false, aborted: true });
    expect((await bed.admin.stats(TOPIC)).dead).toBe(42 - changed);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'INTERRUPTED' } });
  });

  it.each(['top', 'events --follow'])('ends what goes on until then: %s', async (line) => {
    const { code, stderr } = await run(`${line} --json`, {
      during: async ({ child }) => {
        await setTimeout(1500);
        child.kill('SIGINT');
      },
    });
    expect([code, stderr]).toEqual([0, '']);
  });

  it('ends at once what waits for a Redis that does not answer', async () => {
    const redis = await startRedis();
    redis.signal('SIGSTOP');
    const startedAt = performance.now();
    const { code } = await run(`stats --redis ${redis.url} --redis-timeout 30s`, {
      during: async ({ child }) => {
        await setTimeout(1000);
        child.kill('SIGINT');
      },
    });
    expect(code).toBe(-1);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    redis.signal('SIGCONT');
    await redis.stop();
  });
});
