import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { CLIENTS, startGatewayEnvironment } from '../../support/gateway/environment.js';

/**
 * Starts what `clients/BEHAVIOUR.md` describes, prints the variables for the tests of a client in the form that a shell reads, and runs
 * until it is ended.
 */
const { values, positionals } = parseArgs({
  options: { nest: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [client = ''] = positionals;
if (!CLIENTS.some((name) => name === client)) {
  process.stderr.write(`Say whose tests are to run: ${CLIENTS.join(', ')}. Given: '${client}'.\n`);
  process.exit(2);
}

// Before the start, so that a signal meanwhile ends what was started already.
const ended = Promise.race(['SIGINT', 'SIGTERM', 'disconnect'].map(async (signal) => once(process, signal)));
const environment = await startGatewayEnvironment(values.nest ? 'nest' : 'standalone');
const lines = Object.entries(environment.variables(client)).map(([name, value]) => `export ${name}='${value}'`);
process.stdout.write(`${lines.join('\n')}\n`);
await ended;
await environment.close();

// The channel to whoever has started it would keep it.
process.disconnect?.();
