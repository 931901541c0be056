import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { SetupFailure } from './failure.mjs';
import { findRedisServers } from './redis-binary.mjs';
import { installRedis } from './redis-install.mjs';
import { askRedis } from './redis-socket.mjs';

const KEEPER = fileURLToPath(new URL('./redis-keeper.mjs', import.meta.url));

/** What the library takes in the place of the URL of a Redis, if there is none. */
const EMBEDDED = { url: 'embedded:', stop: async () => {} };

/**
 * Finds a Redis: the one that REDIS_URL names, otherwise a private one, whose server it installs if necessary.
 *
 * @param own whether it has to be a private one even with REDIS_URL
 * @param orEmbedded whether one process may keep all messages itself, if REDIS_URL says so or no server can be installed
 * @returns {Promise<{ url: string, stop(): Promise<void> }>}
 * @throws {SetupFailure}
 */
export async function startRedis({ own = false, orEmbedded = false } = {}) {
  const { REDIS_URL } = process.env;
  if (REDIS_URL === EMBEDDED.url && orEmbedded) {
    console.log(`The sample keeps its messages in its own process (redis: '${EMBEDDED.url}').`);
    return EMBEDDED;
  }
  if (REDIS_URL && !own) {
    await checkRedis(REDIS_URL);
    return { url: REDIS_URL, stop: async () => {} };
  }
  const server = findRedisServers().usable[0] ?? (await installOr(orEmbedded));
  return server ? startPrivateRedis(server) : EMBEDDED;
}

/** Answers nothing if Redis cannot be installed and need not be. */
async function installOr(orEmbedded) {
  try {
    return await installRedis();
  } catch (error) {
    if (!orEmbedded || !(error instanceof SetupFailure)) throw error;
    console.log(
      `${error.message}\n\nInstead, the sample keeps its messages in its own process (redis: '${EMBEDDED.url}').\n`,
    );
    return undefined;
  }
}

/**
 * Finds a Redis server that can be started here; installs one if there is none.
 *
 * @throws {SetupFailure}
 */
export async function ensureRedisServer() {
  return findRedisServers().usable[0] ?? installRedis();
}

async function startPrivateRedis({ name, path, version }) {
  // In its own process group, so that Ctrl-C in a terminal does not end Redis before its users.
  const keeper = spawn(process.execPath, [KEEPER, path], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const ended = once(keeper, 'close');
  let errors = '';
  // A keeper that has ended unexpectedly no longer reads; stop() prints its errors.
  keeper.stdin.on('error', () => {});
  keeper.stderr.on('data', (chunk) => (errors += chunk));

  const url = await Promise.race([once(keeper.stdout, 'data').then(String), ended.then(() => undefined)]);
  if (!url) throw new SetupFailure(errors.trim());
  console.log(`Using a private ${name} ${version} at ${url.trim()}.`);
  return {
    url: url.trim(),
    async stop() {
      keeper.stdin.end();
      await ended;
      if (errors) console.error(errors.trim());
    },
  };
}

async function checkRedis(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url?.hostname || !['redis:', 'rediss:'].includes(url.protocol)) {
    throw new SetupFailure(
      'REDIS_URL is not a Redis address: expected redis://[user:password@]host[:port][/db] or rediss://….',
    );
  }
  const address = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    tls: url.protocol === 'rediss:',
  };
  const commands = [...signIn(url), ['PING']];
  const problem = await askRedis(address, commands, { lines: commands.length }).then(
    (replies) =>
      replies.at(-1) === '+PONG' ? undefined : (replies.find((line) => line.startsWith('-')) ?? 'it is not a Redis'),
    (error) => error.message || error.code,
  );
  if (problem)
    throw new SetupFailure(`The Redis of REDIS_URL does not answer at ${url.hostname}:${address.port}: ${problem}`);
  console.log(`Using the Redis of REDIS_URL at ${url.hostname}:${address.port}.`);
}

function signIn({ username, password }) {
  if (!password) return [];
  const user = decodeURIComponent(username);
  return [['AUTH', ...(user ? [user] : []), decodeURIComponent(password)]];
}
