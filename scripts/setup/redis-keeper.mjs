/**
 * A separate process that starts a private Redis. When its standard input closes, it ends Redis and removes its folder. The
 * kernel closes that pipe however the script at its other end ends, so nothing is left behind even if the script is killed.
 *
 * Argument: the server's path. Writes the server's URL to standard output as soon as the server answers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { askRedis } from './redis-socket.mjs';

const HOST = '127.0.0.1';
const PORTS_TO_TRY = 5;
const START_TIMEOUT = 30_000;

const [binary] = process.argv.slice(2);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nestjs-delay-queue-redis-')));
let server;
let ending = false;

process.stdin.on('end', () => end(0)).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(1));

try {
  const port = await start();
  process.stdout.write(`redis://${HOST}:${port}\n`);
  await server.ended;
  await end(1, 'The private Redis has ended unexpectedly.');
} catch (error) {
  await end(1, error.message);
}

async function start() {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    server = launch(port);
    if (await answers(port)) return port;
    // Most likely another program took the port before the server started.
    if (attempt === PORTS_TO_TRY) throw new Error(`${binary} does not start.\n${server.output()}`);
  }
}

function launch(port) {
  const options = { port, bind: HOST, save: '', appendonly: 'no', dir: folder };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(binary, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Redis 7.2 and newer end at once if the machine does not have the locale.
    env: { ...process.env, LC_ALL: 'C' },
  });
  let output = '';
  const collect = (chunk) => (output = (output + chunk).slice(-4000));
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.on('error', (error) => collect(error.message));
  const launched = { child, alive: true, output: () => output };
  launched.ended = once(child, 'close')
    .catch(() => {})
    .then(() => (launched.alive = false));
  return launched;
}

/** Waits until the server answers or has ended. Another server may have taken the port, so it checks the folder. */
async function answers(port) {
  const deadline = Date.now() + START_TIMEOUT;
  while (server.alive && Date.now() < deadline) {
    const questions = [['PING'], ['CONFIG', 'GET', 'dir']];
    const reply = await askRedis({ host: HOST, port }, questions, { lines: 6, timeout: 1000 }).catch(() => []);
    if (reply[0] === '+PONG' && reply[5] === folder) return true;
    await Promise.race([sleep(10), server.ended]);
  }
  server.child.kill('SIGKILL');
  await server.ended;
  return false;
}

async function freePort() {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Uses SIGKILL, because there is nothing to save and a script may be blocking the server. */
async function end(code, message) {
  if (ending) return;
  ending = true;
  if (message) process.stderr.write(`${message}\n`);
  if (server?.alive) {
    server.child.kill('SIGKILL');
    await server.ended;
  }
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}
