import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type PackedProgram, installProgram } from '../support/cli/packed-program.js';
import type { Outcome } from '../support/cli/run-in-process.js';

describe('the program of the packed library, without Nest and without any optional peer', () => {
  const env = { DELAY_QUEUE_REDIS: inject('redisUrl'), DELAY_QUEUE_PREFIX: `program-${randomUUID()}` };
  let program: PackedProgram;

  beforeAll(async () => {
    program = await installProgram();
  });

  async function run(...args: readonly string[]): Promise<Outcome> {
    return program.run(args, { env });
  }

  it('tells its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('publishes, shows and cancels a message', async () => {
    expect(await run('publish', 'jobs', '1', '--id', 'a', '--delay', '1h')).toMatchObject({ code: 0 });
    const { stdout } = await run('peek', 'jobs', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ messages: [{ id: 'a', payload: 1 }] });
    expect(await run('cancel', 'jobs', 'a')).toEqual({ code: 0, stdout: "Message 'a' is cancelled.\n", stderr: '' });
  });

  it('goes on although nobody reads its standard error any more', async () => {
    const { code, stdout } = await program.shell(
      `exec 3> >(:); wait $!; nestjs-delay-queue publish cut 1 --id a --delay 1h 2>&3`,
      { env },
    );
    expect(stdout).toMatch(/^Message 'a' is due /);
    expect(code).toBe(0);
  });

  it('says what is wrong with a URL whose password is not encoded', async () => {
    const { code, stderr } = await run('stats', '--redis', 'redis://me:50%@127.0.0.1:1');
    expect(code).toBe(2);
    expect(stderr).toContain('encodeURIComponent(password)');
  });

  it('ends soon with an error without a stack if Redis is away', async () => {
    const { code, stdout, stderr } = await run('stats', '--redis', 'redis://127.0.0.1:1');
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^error: Redis at 127\.0\.0\.1:1 cannot be reached: .*\n$/);
  });
});
