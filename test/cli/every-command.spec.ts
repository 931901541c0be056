import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { commandNames } from '../support/cli/command-names.js';
import { type Outcome, runInProcess } from '../support/cli/run-in-process.js';

/** What moves a cursor, changes colours, or lets text run backwards. */
const EVIL = '\u001B[31m\u202Eevil\u0007';
const CONTROLS = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u;

/** A queue of BullMQ, and the prefix of its keys. */
const BULLMQ = 'every-command';
const BULLMQ_META = `${BULLMQ}:${BULLMQ}:meta`;

const bed = useCliBed(
  'file',
  async (filled) => {
    const tags = ['customer:7', EVIL];
    await filled.publish([
      ...['w1', 'w2', 'c1', 'c2'].map((id) => ({ payload: { EVIL }, options: { id, delay: '1h', tags } })),
      ...['r1', 'r2', 'x1', 'x2'].map((id) => ({ payload: { fail: EVIL }, options: { id } })),
    ]);
    await filled.admin.resume(TOPIC, { actor: EVIL });
    await addBullmqQueue(filled.redisUrl);
    for (const id of ['s1', 's2']) {
      await filled.admin.schedules.upsert({ id, topic: 'report', payload: { EVIL }, cron: '0 6 * * *' });
    }
  },
  { finished: true },
);

afterAll(async () => {
  const redis = new Redis(bed.redisUrl);
  await redis.del(BULLMQ_META);
  redis.disconnect();
});

async function addBullmqQueue(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.hset(BULLMQ_META, 'version', 'bullmq:6.7.0');
  redis.disconnect();
}

interface Example {
  /** A `#` is 1 for people, and 2 with `--json`. */
  readonly args: string;
  readonly prints: RegExp;
  /** What the document has; `undefined`: there is none. */
  readonly document: object | undefined;
  /** Redis is not asked. */
  readonly isAlone?: true;
  /** It waits for something to happen. */
  readonly follows?: true;
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  topics: { args: '', prints: /^order\.timeout$/m, document: { topics: [TOPIC, 'report'] } },
  stats: { args: TOPIC, prints: /^scheduled +4, /m, document: { topic: TOPIC, scheduled: 4, dead: 4 } },
  top: { args: '--count 1', prints: /^TOPIC .* OLDEST OVERDUE /m, document: { topics: [{ topic: TOPIC }, {}] } },
  agenda: { args: `${TOPIC} --span 2h`, prints: /^4 wait, 0 of them overdue/, document: { scheduled: 4, later: 0 } },
  peek: { args: `${TOPIC} --tag customer:7`, prints: /^w1 .* customer:7, .*evil/m, document: { cursor: null } },
  search: { args: `${TOPIC} --tag customer:7`, prints: /^w1 .* customer:7, .*evil/m, document: { cursor: null } },
  get: { args: `${TOPIC} w#`, prints: /^tags +customer:7, /m, document: { id: 'w2', tags: ['customer:7', EVIL] } },
  explain: { args: `${TOPIC} w#`, prints: /^cause +not-due: /, document: { cause: 'not-due', facts: { id: 'w2' } } },
  fleet: { args: TOPIC, prints: /^No process handles messages\./, document: { processes: [] } },
  events: { args: '--follow --count 1', prints: /Z \w+ +order\.timeout /, document: { topic: TOPIC }, follows: true },
  audit: { args: '', prints: /ago\) +\S+evil\S+ +resume +order\.timeout/, document: { entries: [{ actor: EVIL }] } },
  doctor: { args: '', prints: /^ok {6}connection: /m, document: { findings: expect.anything() as unknown } },
  publish: {
    args: `${TOPIC} {} --id p# --delay 1h --tag a --tag b`,
    prints: /^Message 'p1' is due /,
    document: { id: 'p2', duplicate: false },
  },
  cancel: { args: `${TOPIC} c#`, prints: /is cancelled/, document: { topic: TOPIC, id: 'c2', result: 'cancelled' } },
  reschedule: { args: `${TOPIC} w# --delay 2h`, prints: /is rescheduled/, document: { id: 'w2', result: 'moved' } },
  'run-now': { args: `${TOPIC} w#`, prints: /^Message 'w1' is due\.$/m, document: { id: 'w2', result: 'moved' } },
  edit: { args: `${TOPIC} w# {"a":1}`, prints: /is edited/, document: { id: 'w2', result: 'edited' } },
  dead: { args: TOPIC, prints: /^r1 .*unrecoverable/m, document: { state: 'dead', cursor: null } },
  requeue: { args: `${TOPIC} --id r#`, prints: /^1 dead letter requeued/, document: { matched: 1, changed: 1 } },
  remove: { args: `${TOPIC} --id x# -y`, prints: /^1 dead letter removed/, document: { matched: 1, changed: 1 } },
  pause: { args: TOPIC, prints: /is paused/, document: { topic: TOPIC, paused: true } },
  hold: {
    args: `${TOPIC} --for 30m`,
    prints: /is held until \S+ \(in (30m|29m 59s)\)\.$/m,
    document: { topic: TOPIC, heldUntil: expect.any(String) as unknown },
  },
  resume: { args: TOPIC, prints: /neither paused nor held/, document: { topic: TOPIC, paused: false } },
  drain: { args: `${TOPIC} --dry-run`, prints: /would be removed/, document: { changed: 0, dryRun: true } },
  purge: { args: `${TOPIC} --dry-run`, prints: /would be removed/, document: { changed: 0, dryRun: true } },
  'schedules list': {
    args: '',
    prints: /^s1 +0 6 \* \* \* UTC +in .* report$/m,
    document: { schedules: [{ id: 's1' }, { id: 's2' }] },
  },
  'schedules get': { args: 's#', prints: /^rule +0 6 \* \* \* UTC$/m, document: { id: 's2', topic: 'report' } },
  'schedules next': {
    args: 's# --count 2',
    prints: /^(\S+T06:00:00\.000Z \(in .*\)\n){2}$/,
    document: { id: 's2', occurrences: [expect.any(String), expect.any(String)] },
  },
  'schedules pause': { args: 's#', prints: /^Schedule 's1' is paused/, document: { id: 's2', paused: true } },
  'schedules resume': { args: 's#', prints: /not paused any more/, document: { id: 's2', paused: false } },
  'schedules run-now': {
    args: 's#',
    prints: /^Message 's1@.*' of topic 'report' is due/,
    document: { topic: 'report' },
  },
  'schedules remove': { args: 's# --yes', prints: /^Schedule 's1' is removed/, document: { id: 's2', removed: true } },
  'schedules prune': {
    args: '',
    prints: /^0 schedules removed/,
    document: { matched: [], removed: [], dryRun: false },
  },
  'import-bullmq': {
    args: `${BULLMQ} ${TOPIC} --from-prefix ${BULLMQ}`,
    prints: /^left +0$/m,
    document: { queue: BULLMQ, counted: 0, moved: 0, remaining: { delayed: 0 } },
  },
  'outbox ddl': {
    args: '--dialect postgres --table shop.outbox',
    prints: /^CREATE TABLE "shop"\."outbox_shards" \($/m,
    document: { dialect: 'postgres', table: 'shop.outbox', inboxTable: 'delay_queue_inbox' },
    isAlone: true,
  },
  acl: { args: 'operator', prints: /^ACL SETUSER operator /m, document: { roles: [{}] }, isAlone: true },
  completion: { args: 'bash', prints: /^# Completes/, document: undefined, isAlone: true },
};

const table = Object.entries(EXAMPLES).map(([name, example]) => ({ name, ...example }));
const wordsOf = (name: string, args: string, n: number): string[] =>
  `${name} ${args.replaceAll('#', String(n))}`.trim().split(' ');

it('every command is here', () => {
  // Those serve until they are ended, and have files of their own.
  expect(Object.keys(EXAMPLES)).toEqual(commandNames().filter((name) => name !== 'dashboard' && name !== 'gateway'));
});

describe('every command', () => {
  it.each(table)('$name works with and without --json', async ({ name, args, prints, document, follows }) => {
    const run = async (n: number, ...more: readonly string[]): Promise<Outcome> => {
      const running = runInProcess([...wordsOf(name, args, n), ...more], { env: bed.env });
      return follows ? bed.whilePublishing([{ payload: {}, options: { delay: '1h' } }], running) : running;
    };
    const codes = name === 'doctor' ? [0, 1] : [0];
    const people = await run(1);
    expect(codes).toContain(people.code);
    expect(people.stdout).toMatch(prints);
    expect(people.stdout.replaceAll('\n', '')).not.toMatch(CONTROLS);

    const script = await run(2, '--json');
    expect(codes).toContain(script.code);
    expect(script.stderr).toBe('');
    if (!document) return;
    expect(script.stdout).toMatch(/^\{.*\}\n$/);
    expect(script.stdout.trimEnd()).not.toMatch(CONTROLS);
    expect(JSON.parse(script.stdout)).toMatchObject(document);
  });

  it.each(table)('$name has an example in its help', async ({ name }) => {
    const { code, stdout } = await runInProcess([...name.split(' '), '--help'], {});
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^ {2}\\$ npx nestjs-delay-queue ${name}`, 'm'));
  });

  it.each(table)('$name refuses what it does not know', async ({ name, args }) => {
    const words = [...wordsOf(name, args, 1), '--nope'];
    expect(await runInProcess(words, { env: bed.env })).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown option '--nope'\n",
    });
    const { code, stdout, stderr } = await runInProcess([...words, '--json'], { env: bed.env });
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'USAGE', message: "unknown option '--nope'" } });
  });

  it('says that Redis is away with exit code 3, in bounded time', async () => {
    const away = ['--redis', 'redis://127.0.0.1:1', '--redis-timeout', '1s'];
    await Promise.all(
      table.map(async ({ name, args, isAlone }) => {
        const words = [...wordsOf(name, args, 1), ...away];
        const [people, script] = [await runInProcess(words, {}), await runInProcess([...words, '--json'], {})];
        expect([name, people.code, script.code]).toEqual(isAlone ? [name, 0, 0] : [name, 3, 3]);
        if (isAlone) return;
        expect(people.stdout + people.stderr).toMatch(/127\.0\.0\.1:1/);
        expect(people.stderr).not.toMatch(/^ +at /m);
        const told =
          name === 'doctor' ? { findings: [{ check: 'connection' }] } : { error: { code: 'BROKER_UNAVAILABLE' } };
        expect(JSON.parse(script.stdout + script.stderr)).toMatchObject(told);
      }),
    );
  });
});
