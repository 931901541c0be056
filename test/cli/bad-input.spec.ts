import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { VERSION } from '../../lib/version.js';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('file', async (filled) => {
  await filled.publish([{ payload: {}, options: { id: '1', delay: '1h' } }]);
});

/** A command keeps no messages in its memory, but tests before these may have done so in this process. */
beforeEach(() => {
  vi.stubGlobal(Symbol.for(`nestjs-delay-queue.embedded ${VERSION}`), undefined);
});

/** What nobody means, and what the error says. */
const WRONG: readonly (readonly [args: string, says: RegExp])[] = [
  ['pauze x', /unknown command 'pauze'\n\(Did you mean pause\?\)/],
  ['stats --foo', /unknown option '--foo'/],
  ['stats a b', /too many arguments/],
  ['get', /missing required argument 'topic'/],
  [`get ${TOPIC}`, /missing required argument 'id'/],
  ['stats a{b}', /A topic must be 1 to 128 characters/],
  [`peek ${TOPIC} --state lost`, /Allowed choices are scheduled, due, in-flight, dead/],
  [`peek ${TOPIC} --limit many`, /'many' is invalid\. It is no number/],
  [`peek ${TOPIC} --limit 201`, /limit must be a whole number from 1 to 200/],
  [`peek ${TOPIC} --cursor abc`, /cursor/],
  [`publish ${TOPIC} {orderId:1}`, /The payload must be JSON/],
  [`publish ${TOPIC} @/nowhere/order.json`, /The payload names a file that cannot be read: ENOENT/],
  [`publish ${TOPIC} 1 --delay 1mo`, /delay must be a duration/],
  [`publish ${TOPIC} 1 --delay 1h --deliver-at 2026-12-24T18:00:00Z`, /delay.*deliverAt|deliverAt.*delay/],
  [`publish ${TOPIC} 1 --deliver-at 2026-12-24T18:00`, /with its zone/],
  [`publish ${TOPIC} 1 --header novalue`, /name=value/],
  [`publish ${TOPIC} 1 --backoff fixed`, /--backoff must be JSON/],
  [`publish ${TOPIC} 1 --backoff {"type":"none"}`, /backoff/],
  [`publish ${TOPIC} 1 --on-duplicate maybe`, /Allowed choices/],
  [`publish ${TOPIC} 1 --replicas {"min":1}`, /replicas\.timeout must be a duration/],
  [`publish ${TOPIC} 1 --replicas many`, /--replicas must be JSON/],
  [`reschedule ${TOPIC} 1`, /either --delay or --deliver-at/],
  [`reschedule ${TOPIC} 1 --delay 1h --deliver-at 1767268800000`, /either --delay or --deliver-at/],
  [`cancel ${TOPIC}`, /Say which messages/],
  [`cancel ${TOPIC} --all --tag red`, /--all means every message/],
  [`cancel ${TOPIC} 1 --tag red`, /An id means one message/],
  [`cancel ${TOPIC} 1 --in-flight`, /An id means one message/],
  [`cancel ${TOPIC} --in-flight --to 1767268800000 --dry-run`, /not known of those that are in-flight/],
  [`run-now ${TOPIC} 1 --dry-run`, /An id means one message/],
  [`run-now ${TOPIC} --all --rate 0`, /rate must be a number/],
  [`reschedule ${TOPIC} --all`, /either --delay or --deliver-at/],
  [`search ${TOPIC}`, /Say which messages/],
  [`search ${TOPIC} --field customer`, /path=value/],
  [`search ${TOPIC} --all --state lost`, /Allowed choices are scheduled, in-flight, dead, finished/],
  [`search ${TOPIC} --all --limit 0`, /limit must be a whole number/],
  [`search ${TOPIC} --all --cursor abc`, /cursor must be one that search\(\) has returned/],
  [`edit ${TOPIC} 1 oops`, /The payload must be JSON/],
  [`requeue ${TOPIC}`, /Say which dead letters/],
  [`remove ${TOPIC} --yes`, /Say which dead letters/],
  [`remove ${TOPIC} --all --key k --yes`, /--all means every dead letter/],
  [`requeue ${TOPIC} --id 1 --reason failed`, /--id means one dead letter/],
  [`requeue ${TOPIC} --all --payload 1`, /--payload is for one dead letter/],
  [`requeue ${TOPIC} --all --rate 0`, /rate must be a number/],
  [`requeue ${TOPIC} --fingerprint x`, /16 hexadecimal digits/],
  [`requeue ${TOPIC} --reason boredom`, /Allowed choices/],
  [`requeue ${TOPIC} --since yesterday`, /with its zone/],
  ['top --interval 1', /'1s' are seconds, '1ms' milliseconds/],
  ['stats --redis-timeout 5', /It needs a unit: '5s' are seconds/],
  ['top --interval 1ms', /interval must be between 500 ms/],
  ['events', /give --follow/],
  [`peek ${TOPIC} --state finished --tag a`, /Finished messages are not found by their tags/],
  [`peek ${TOPIC} --tag \u0000`, /tag must be a string/],
  [`publish ${TOPIC} 1 ${'--tag a '.repeat(9).trim()}`, /tags must be an array of at most 8/],
  [`agenda ${TOPIC} --span 1h --to 2026-12-24T18:00:00Z`, /either --to or --span/],
  ['agenda --span 0', /--span must be/],
  ['agenda --from tomorrow', /with its zone/],
  ['agenda --to 2020-01-01T00:00:00Z', /to must be at least a millisecond/],
  ['agenda --buckets 201', /buckets must be a whole number from 1 to 200/],
  [`explain ${TOPIC}`, /missing required argument 'id'/],
  ['fleet --minutes 16', /minutes must be a whole number from 0 to 15/],
  ['fleet a{b}', /A topic must be/],
  ['audit --limit 0', /limit must be a whole number from 1 to 200/],
  ['audit --cursor abc', /cursor must be one that audit\(\) has returned/],
  ['schedules lits', /unknown command 'lits'\n\(Did you mean list\?\)/],
  ['schedules get', /missing required argument 'schedule'/],
  ['schedules next s --count 0', /n must be a whole number from 1 to 1000/],
  [`hold ${TOPIC}`, /required option '--for <duration>' not specified/],
  [`hold ${TOPIC} --for 30M`, /delay must be a duration/],
  [`pause ${TOPIC} --actor ${'a'.repeat(257)}`, /actor must be a string of 1 to 256 characters/],
  ['dashboard --port 65536', /'65536' is invalid\. It must be a number up to 65535/],
  ['gateway', /The gateway has no topic to serve/],
  ['gateway --topics a{b}', /A topic must be/],
  ['gateway --topics a --host 0.0.0.0', /Without a token the gateway serves this machine alone/],
  ['gateway --topics a --token ä', /A token of --token .* must be 1 to 1024 characters/],
  ['gateway --topics a --config /nowhere', /--config names a file that cannot be read/],
  ['gateway --topics a --config package.json', /There is no option 'name' in the configuration/],
  ['gateway --topics a --max-waiting 0', /maxWaiting must be a whole number from 1/],
  ['completion cmd', /Allowed choices are bash, zsh, fish/],
  ['topics --prefix a{b}', /A prefix must be/],
  ['topics --redis localhost', /redis must be a URL/],
  ['topics --redis embedded:', /in the memory of the process that uses it, and this is another one/],
  ['topics --redis {"host"', /--redis begins as JSON and is none/],
  ['topics --redis {"hots":"x"} --redis-timeout never', /--redis-timeout must be a duration/],
  ['topics --redis @/nowhere', /--redis names a file that cannot be read/],
];

describe('bad input is an error with exit code 2 and without a stack', () => {
  it.each(WRONG)('%s', async (line, says) => {
    const args = line.split(' ');
    const { code, stdout, stderr } = await runInProcess(args, { env: bed.env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toMatch(/^ +at /m);

    const json = await runInProcess([...args, '--json'], { env: bed.env });
    expect([json.code, json.stdout]).toEqual([2, '']);
    expect(JSON.parse(json.stderr)).toEqual({
      error: {
        code: expect.stringMatching(/^(USAGE|INVALID_ARGUMENT)$/) as string,
        message: expect.stringMatching(says) as string,
      },
    });
  });

  it('nothing at all: the help', async () => {
    const { code, stdout, stderr } = await runInProcess([], { env: bed.env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^Usage: nestjs-delay-queue/);
  });

  it('no message was changed by any of it', async () => {
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: 1, dead: 0, counters: { published: 1 } });
  });
});

describe('which Redis', () => {
  let file = '';

  beforeAll(async () => {
    file = join(await mkdtemp(join(inject('runFolder'), 'redis-')), 'redis.json');
    const { hostname: host, port } = new URL(bed.redisUrl);
    await writeFile(file, JSON.stringify({ host, port: Number(port) }));
  });

  it.each([
    { how: 'an option', args: () => ['--redis', bed.redisUrl], env: () => ({ REDIS_URL: 'redis://127.0.0.1:1' }) },
    { how: 'a file', args: () => ['--redis', `@${file}`], env: () => ({}) },
    { how: 'REDIS_URL', args: () => [], env: () => ({ REDIS_URL: bed.redisUrl }) },
    {
      how: 'DELAY_QUEUE_REDIS before REDIS_URL',
      args: () => [],
      env: () => ({ REDIS_URL: 'redis://x:1', DELAY_QUEUE_REDIS: bed.redisUrl }),
    },
    { how: 'an option before the command', args: () => [], first: () => ['--redis', bed.redisUrl], env: () => ({}) },
  ])('is said by $how', async ({ args, env, first = () => [] }) => {
    const all = [...first(), 'topics', '--prefix', bed.prefix, ...args()];
    expect(await runInProcess(all, { env: env() })).toEqual({ code: 0, stdout: `${TOPIC}\n`, stderr: '' });
  });

  it('is never shown if it cannot be used, since it may hold a password', async () => {
    for (const given of [
      'redis://user:p#ssw0rd@host',
      '{"password":"p@ssw0rd"',
      '{"host":"a b","password":"p@ssw0rd"}',
    ]) {
      const { code, stderr } = await runInProcess(['topics', '--redis', given], {});
      expect(code).toBe(2);
      expect(stderr).not.toContain('ssw0rd');
    }
  });
});
