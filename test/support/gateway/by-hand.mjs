/**
 * `node test/support/gateway/by-hand.mjs php [--nest]`: builds and starts what the tests of a client run against, and prints the variables
 * that they are given. In another shell, paste those and run the tests. Ctrl-C ends it.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setup } from '../setup/build-programs.mjs';

process.chdir(fileURLToPath(new URL('../../../', import.meta.url)));
await setup();
const program = spawn(process.execPath, ['dist-test/fleet/programs/gateway-environment.js', ...process.argv.slice(2)], {
  // By the channel it notices even if this process is killed.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => program.kill(signal));
program.once('exit', (code) => (process.exitCode = code ?? 1));
