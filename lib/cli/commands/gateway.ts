import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { DelayQueueConnection } from '../../composition/delay-queue.connection.js';
import { openGatewayConnection } from '../../composition/open-gateway-connection.js';
import { servedTopics } from '../../gateway/access.js';
import { type GatewayConfig, checkConfig } from '../../gateway/gateway-config.js';
import { DEFAULT_MAX_BODY, DEFAULT_MAX_WAITING, assertLimits } from '../../gateway/limits.js';
import { isLoopback } from '../../gateway/loopback.js';
import { type ServedGateway, serveGateway } from '../../gateway/serve-gateway.js';
import { type GatewayToken, assertToken } from '../../gateway/tokens.js';
import type { Cli } from '../cli.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { toList, toNumber, toTags } from '../given-values.js';
import { listening } from '../listening.js';
import { example } from '../program.js';

interface Given {
  readonly host: string;
  readonly port: number;
  readonly topics?: readonly string[] | undefined;
  readonly token?: readonly string[] | undefined;
  readonly config?: string | undefined;
  readonly maxWaiting: number;
  readonly maxBody: number;
}

const HOST = '127.0.0.1';

export const gateway: AddCommand = (program, cli) => {
  program
    .command('gateway')
    .summary('serve topics over HTTP, to programs in any language')
    .description(
      'Serves the topics that it is given over HTTP and prints its URL, until Ctrl-C. Without a token it serves this machine alone, and ' +
        'everything is allowed. A token of --token or of the environment (DELAY_QUEUE_GATEWAY_TOKEN) allows everything as well; a file ' +
        'gives tokens with rights for each topic.',
    )
    .option('--port <port>', 'port to listen on; one that is free by default', toNumber, 0)
    .option('--host <host>', 'address to listen on; another one than of this machine needs a token', HOST)
    .option('--topics <topics>', 'topics to serve, with commas between them', toList)
    .option('--token <token>', 'bearer token; may be given several times (env DELAY_QUEUE_GATEWAY_TOKEN)', toTags)
    .option('--config <file>', 'JSON file with topics and their options, and tokens with their rights')
    .option('--max-waiting <number>', 'most requests that wait for messages at once', toNumber, DEFAULT_MAX_WAITING)
    .option('--max-body <bytes>', 'largest body of a request', toNumber, DEFAULT_MAX_BODY)
    .addHelpText('after', example('gateway --port 8080 --topics order.timeout,invoice.send --token "$TOKEN"'))
    .action(async (given) => {
      const config = configOf(cli, given);
      assertCanListen(given, config.tokens);
      const log = new GatewayLog(cli);
      await withConnection(cli, { config, log }, async (connection) =>
        cli.interruptible(async (ended) => {
          const served = await serve({ given, config, connection, log });
          log.isServing = true;
          const { url } = served;
          const topics = Object.keys(config.topics);
          cli.print({ url, topics }, () => [`The gateway is at ${url}`]);
          if (!cli.isJson) cli.note(`It serves ${topics.join(', ')}. ${whoMay(config.tokens)} Ctrl-C ends it.`);
          if (!ended.aborted) await once(ended, 'abort');
          await served.close();
        }),
      );
    });
};

function configOf(cli: Cli, { topics = [], token = [], config }: Given): GatewayConfig {
  const { DELAY_QUEUE_GATEWAY_TOKEN: ofEnvironment } = cli.terminal.env;
  const all = [...token, ...(ofEnvironment ? [ofEnvironment] : [])];
  for (const one of all) assertToken('A token of --token or DELAY_QUEUE_GATEWAY_TOKEN', one);
  const file = checkConfig(config === undefined ? {} : readConfig(config), topics);
  if (Object.keys(file.topics).length === 0) {
    throw usageError('The gateway has no topic to serve. Name them with --topics, or in the file of --config.');
  }
  return { topics: file.topics, tokens: [...file.tokens, ...all.map((one) => ({ token: one }))] };
}

/** No error shows what is in the file, since it may be a token. */
function readConfig(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usageError(`--config names a file that cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw usageError('--config names a file that is no JSON.');
  }
}

function assertCanListen({ host, port, maxWaiting, maxBody }: Given, tokens: readonly GatewayToken[]): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw usageError('--port must be a number up to 65535.');
  assertLimits({ maxWaiting, maxBody });
  if (tokens.length > 0 || isLoopback(host)) return;
  throw usageError(
    `Without a token the gateway serves this machine alone: give --token, or leave --host out. Given: --host ${host}.`,
  );
}

async function withConnection(
  cli: Cli,
  { config: { topics }, log }: { config: GatewayConfig; log: GatewayLog },
  work: (connection: DelayQueueConnection) => Promise<void>,
): Promise<void> {
  const connection = await openGatewayConnection('nestjs-delay-queue', { ...cli.connectionOptions, topics, log });
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}

interface Serving {
  readonly given: Given;
  readonly config: GatewayConfig;
  readonly connection: DelayQueueConnection;
  readonly log: GatewayLog;
}

async function serve({ given, config, connection, log }: Serving): Promise<ServedGateway> {
  const { host, port, maxWaiting, maxBody } = given;
  return listening('gateway', given, () =>
    serveGateway({
      queues: connection,
      topics: servedTopics(Object.keys(config.topics)),
      tokens: config.tokens,
      host,
      port,
      maxWaiting,
      maxBody,
      isUp: async () => connection.health.isReachable(),
      log,
    }),
  );
}

/** With JSON there is nothing beside the results until there is trouble; what a boot would warn of, `doctor` says. */
class GatewayLog {
  isServing = false;
  readonly #cli: Cli;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  log(text: string): void {
    this.#tell(text);
  }

  warn(text: string): void {
    this.#tell(text);
  }

  error(text: string): void {
    this.#tell(text);
  }

  #tell(text: string): void {
    if (this.isServing || !this.#cli.isJson) this.#cli.note(text);
  }
}

function whoMay(tokens: readonly GatewayToken[]): string {
  return tokens.length === 0 ? 'Everybody on this machine may do everything.' : 'Who has a token may use it.';
}
