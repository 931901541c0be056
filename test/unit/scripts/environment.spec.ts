import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { runProgram } from '../../support/package/run-program.js';

const MODULE = pathToFileURL(resolve('scripts/setup/environment.mjs')).href;
const PROGRAM = `import { keepTestEnvironment } from '${MODULE}';
keepTestEnvironment();
console.log(JSON.stringify({ ...process.env, offset: new Date(0).getTimezoneOffset() }));`;

async function environmentOf(given: NodeJS.ProcessEnv): Promise<unknown> {
  const env = { PATH: process.env['PATH'], SEED: '7', ...given };
  return JSON.parse(await runProgram(process.execPath, ['--input-type=module', '--eval', PROGRAM], { env }));
}

it('of tests is the same in every shell', async () => {
  const bare = await environmentOf({});
  expect(bare).toMatchObject({ PATH: process.env['PATH'], SEED: '7', TZ: 'UTC', NODE_ENV: 'test', offset: 0 });
  const shells: NodeJS.ProcessEnv[] = [
    { CI: 'true' },
    { NO_COLOR: '1' },
    { FORCE_COLOR: '1' },
    { TERM: 'dumb', TERM_PROGRAM: 'vscode', COLORTERM: 'truecolor' },
    { TMUX: '/tmp/tmux' },
    { COLUMNS: '40', LINES: '10' },
    { TZ: 'Pacific/Chatham' },
    { LANG: 'C', LC_ALL: 'C', LANGUAGE: 'de' },
    { HOME: '/nowhere' },
    { npm_config_omit: 'dev', npm_config_loglevel: 'silly', npm_lifecycle_event: 'test' },
    { REDIS_URL: 'redis://127.0.0.1:1', DELAY_QUEUE_REDIS: 'redis://127.0.0.1:1', DELAY_QUEUE_PREFIX: 'mine' },
    { NODE_ENV: 'production', NODE_OPTIONS: '--no-warnings', DEBUG: '*', PORT: '1' },
  ];
  for (const shell of shells) expect(await environmentOf(shell)).toEqual(bare);
});

it('has what somebody asks for', async () => {
  const asked = { IOREDIS: 'ioredis-5', REDIS_SERVER: '/opt/redis-server', SEED: '9' };
  expect(await environmentOf(asked)).toMatchObject(asked);
});
