import { Injectable } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { Redis } from 'ioredis';
import { beforeEach, expect, inject, it, onTestFinished } from 'vitest';
import { CliBed, type CliBedOptions, TOPIC } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';
import { whileServing } from '../support/cli/while-serving.js';
import { inBackticks, readDocument, section, table } from '../support/docs/markdown.js';
import { TOKEN } from '../support/gateway/gateway.js';
import { startStandaloneGateway } from '../support/gateway/standalone-gateway.js';
import { startRedis } from '../support/servers/redis-server.js';
import { Gate, eventually } from '../support/waiting.js';

// "Timeouts do not fire", in the middle of the night: from `stats` to the cause by the command that `stats` names, as the guide has it.

const GUIDE = section(readDocument('docs/guides/operations.md'), 'Messages do not come');
const ROWS = table(GUIDE, '`stats` shows', 'next', 'which says');

type Env = Readonly<Record<string, string>>;

/** Looks at the queues as somebody who was woken. */
type Walk = (env: Env, ...args: readonly string[]) => Promise<void>;

interface Night {
  /** What the first screen has. */
  readonly screen: RegExp;
  /** What the two commands end with. */
  readonly codes: readonly [number, number];
  /** Makes it so, and has it looked at. */
  readonly during: (walk: Walk) => Promise<void>;
}

/** When somebody wants to go home. */
let morning: Gate;

beforeEach(() => {
  morning = new Gate();
});

@Injectable()
class Handling {
  @DelayedHandler(TOPIC)
  onTimeout(): void {}
}

@Injectable()
class Failing {
  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: '1h' } })
  onTimeout(): void {
    throw new Error('no stock');
  }
}

@Injectable()
class Hanging {
  @DelayedHandler(TOPIC, { concurrency: 1 })
  async onTimeout(): Promise<void> {
    await morning.opened;
  }
}

/** By what stands in the first column of the guide. */
const NIGHTS: Readonly<Record<string, Night>> = {
  paused: {
    screen: /^order\.timeout .* paused$/m,
    codes: [0, 0],
    during: async (walk) =>
      whileHandling(Handling, async ({ env, run }) => {
        await run('pause', TOPIC);
        await publish(env, '42');
        await grow(env);
        await walk(env);
      }),
  },
  'held for': {
    screen: /^order\.timeout .* held for (30m|29m \d+s)$/m,
    codes: [0, 0],
    during: async (walk) =>
      whileHandling(Handling, async ({ env, run }) => {
        await run('hold', TOPIC, '--for', '30m');
        await publish(env, '42');
        await grow(env);
        await walk(env);
      }),
  },
  RETRYING: {
    screen: /^order\.timeout( +\d+){3} +1 +0 .* -$/m,
    codes: [0, 0],
    during: async (walk) =>
      whileHandling(Failing, async ({ env }) => {
        await publish(env, '42');
        await walk(env);
      }),
  },
  'OLDEST OVERDUE': {
    screen: /^order\.timeout +1 +1 +1 +0 +0 .* 1m( \d+s)?$/m,
    codes: [0, 0],
    during: async (walk) =>
      whileHandling(Hanging, async ({ env, admin, run }) => {
        await publish(env, '1', '2');
        await eventually(async () => expect((await admin.fleet()).processes).toMatchObject([{ busy: 1, waiting: 1 }]));
        await grow(env);
        await walk(env);
        const { stdout } = await run('peek', TOPIC, '--state', 'in-flight');
        const [, running = ''] =
          /^ID +KEY +WAS DUE +LEASE ENDS .*\n([12]) +customer +\d+.* ago +in \d+/.exec(stdout) ?? [];
        const why = await run('explain', TOPIC, running, '--key', 'customer');
        expect(why.stdout).toMatch(/^cause +running: .*\nwas due +\S+Z \(.* ago\)$/m);
      }),
  },
  'overdue behind others of their key': {
    screen: /^order\.timeout +1 +0 +1 .* 1m( \d+s)? +1 overdue behind others of their key, or its limits$/m,
    codes: [0, 0],
    during: async (walk) =>
      whileHandling(
        Hanging,
        async ({ env, run }) => {
          await publish(env, '1', '2');
          await grow(env);
          await walk(env);
          expect((await run('stats', TOPIC)).stdout).toMatch(/^blocked +1, of which are due 1, the oldest one /m);
        },
        { ordered: true },
      ),
  },
  'receiver, busy': {
    screen: /^order\.timeout .* 1 receiver, busy$/m,
    codes: [0, 0],
    during: async (walk) => {
      const env = await newPrefix();
      await whileServing(['gateway', '--topics', TOPIC], { env }, async (url) => {
        await publish(env, '1', '2');
        await receiveOne(url);
        await grow(env);
        await walk(env);
      });
    },
  },
  'handled by nobody': {
    screen: /^order\.timeout .* handled by nobody$/m,
    codes: [0, 0],
    during: async (walk) => {
      const redis = await startRedis();
      onTestFinished(() => redis.stop());
      const gateway = await startStandaloneGateway({ redisUrl: redis.url, topics: [TOPIC] });
      const env = { DELAY_QUEUE_REDIS: redis.url };
      await publish(env, '1', '2');
      await receiveOne(gateway.url, TOKEN);
      await gateway.program.kill();
      await grow(env);
      await walk(env);
    },
  },
  'there is': {
    screen: /^no topics: Nothing is stored under the prefix 'forgotten' .*; there is 'cli-/m,
    codes: [1, 1],
    during: async (walk) => {
      const env = await newPrefix();
      await publish(env, '42');
      await walk(env, '--prefix', 'forgotten');
    },
  },
  'there are keys in database 0': {
    screen: /^no topics: Nothing is stored .* in Redis at .* \(database 7\); there are keys in database 0/m,
    codes: [1, 0],
    during: async (walk) => {
      const redis = await startRedis(['--appendonly', 'yes']);
      onTestFinished(() => redis.stop());
      await publish({ DELAY_QUEUE_REDIS: redis.url }, '42');
      await walk({ DELAY_QUEUE_REDIS: `${redis.url}/7` });
    },
  },
  ECONNREFUSED: {
    screen: /^error: .*ECONNREFUSED 127\.0\.0\.1:1/,
    codes: [3, 3],
    during: async (walk) => walk({ DELAY_QUEUE_REDIS: 'redis://127.0.0.1:1' }, '--redis-timeout', '1s'),
  },
};

it('the guide has each of these causes', () => {
  expect([...ROWS.keys()]).toEqual(Object.keys(NIGHTS));
});

it.each(Object.entries(NIGHTS))('two commands tell the cause: %s', async (shows, { screen, codes, during }) => {
  const [cell = '', next = '', says = ''] = ROWS.get(shows) ?? [];
  let walks = 0;
  await during(async (env, ...args) => {
    walks++;
    // What is told of processes and receivers comes with their heartbeats.
    const first = await eventually(async () => {
      const outcome = await runInProcess(['stats', ...args], { env });
      expect(outcome.stdout + outcome.stderr).toMatch(screen);
      return outcome;
    });
    expect(first.stdout + first.stderr).toContain(inBackticks(cell)[0]);
    const [, named = 'doctor'] = /^Next: npx nestjs-delay-queue (.+)$/m.exec(first.stderr) ?? [];
    expect(inBackticks(next)).toEqual([named.split(' ')[0]]);
    const second = await runInProcess([...named.split(' '), ...args], { env });
    for (const text of inBackticks(says)) expect(second.stdout).toContain(text);
    expect([first.code, second.code]).toEqual(codes);
    // Nobody has to start who is there.
    expect(second.stdout.includes('Start a process')).toBe(shows === 'handled by nobody');
  });
  expect(walks).toBe(1);
});

async function publish(env: Env, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { code } = await runInProcess(['publish', TOPIC, '1', '--id', id, '--key', 'customer'], { env });
    expect(code).toBe(0);
  }
}

/** Makes what waits of the topic a minute older. */
async function grow({ DELAY_QUEUE_REDIS: url = '', DELAY_QUEUE_PREFIX: prefix = 'dq' }: Env): Promise<void> {
  const redis = new Redis(url);
  for (const key of await redis.keys(`{${prefix}:${TOPIC}:*}:[sb]*ed`)) {
    for (const id of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, -60_000, id);
  }
  redis.disconnect();
}

async function newPrefix(): Promise<Env> {
  const bed = new CliBed(inject('redisUrl'), {});
  await bed.open();
  onTestFinished(() => bed.close());
  return bed.env;
}

/** Runs something while an application handles the topic in its way. */
async function whileHandling(
  handler: new () => object,
  work: (bed: CliBed) => Promise<void>,
  options: CliBedOptions = {},
): Promise<void> {
  const bed = new CliBed(inject('redisUrl'), { handlers: [handler], ...options });
  await bed.open();
  onTestFinished(() => bed.close());
  await bed.whileHandling(async () => work(bed).finally(() => morning.open()));
}

/** Takes a message by the gateway, and keeps it. */
async function receiveOne(url: string, token?: string): Promise<void> {
  const response = await fetch(`${url}/v1/topics/${TOPIC}/receive`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ max: 1, wait: '20s', lease: '5m' }),
  });
  expect(await response.json()).toMatchObject({ messages: [{ topic: TOPIC }] });
}
