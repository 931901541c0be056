import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { NoJsonError, parseExactJson } from '../../checks/parse-exact-json.js';
import { openGatewayConnection } from '../../composition/open-gateway-connection.js';
import { servedTopics } from '../../gateway/access.js';
import { type GatewayConfig, checkConfig } from '../../gateway/gateway-config.js';
import { DEFAULT_LIMITS, checkedLimits } from '../../gateway/limits.js';
import { assertToken } from '../../gateway/tokens.js';
import { isLoopback } from '../../http/foreign-page.js';
import type { Cli } from '../cli.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { toList, toNumber, toPort, toTags } from '../given-values.js';
import { listening } from '../listening.js';
import { example } from '../program.js';

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
    .option('--port <port>', 'port to listen on; one that is free by default', toPort, 0)
    .option('--host <host>', 'address to listen on; another one than of this machine needs a token', HOST)
    .option('--topics <topics>', 'topics to serve, with commas between them', toList)
    .option('--token <token>', 'bearer token; may be given several times (env DELAY_QUEUE_GATEWAY_TOKEN)', toTags)
    .option('--config <file>', 'JSON file with topics and their options, and tokens with their rights')
    .option('--max-waiting <number>', 'most requests that wait for messages', toNumber, DEFAULT_LIMITS.maxWaiting)
    .option('--max-body <bytes>', 'largest body of a request', toNumber, DEFAULT_LIMITS.maxBody)
    .addHelpText('after', example('gateway --port 8080 --topics order.timeout,invoice.send --token "$TOKEN"'))
    .action(async ({ host, port, topics = [], token = [], config: file, ...limits }) => {
      const config = configOf(cli, file, topics, token);
      const { tokens } = config;
      if (tokens.length === 0 && !isLoopback(host)) {
        throw usageError(
          `Without a token the gateway serves this machine alone: give --token, or leave --host out. Given: --host ${host}.`,
        );
      }
      await serve(cli, config, { host, port, limits: checkedLimits(limits) });
    });
};

/** @throws CliError, InvalidArgumentError */
function configOf(
  cli: Cli,
  file: string | undefined,
  topics: readonly string[],
  given: readonly string[],
): GatewayConfig {
  const { DELAY_QUEUE_GATEWAY_TOKEN: ofEnvironment } = cli.terminal.env;
  const all = [...given, ...(ofEnvironment ? [ofEnvironment] : [])];
  for (const token of all) assertToken('A token of --token or DELAY_QUEUE_GATEWAY_TOKEN', token);
  const config = checkConfig(file === undefined ? {} : readConfig(file), topics);
  if (Object.keys(config.topics).length === 0) {
    throw usageError('The gateway has no topic to serve. Name them with --topics, or in the file of --config.');
  }
  const limited = config.tokens.find(({ token }) => all.includes(token));
  if (limited) {
    throw usageError(
      `The token '${limited.name}' of the file of --config is given by --token or DELAY_QUEUE_GATEWAY_TOKEN too, which would allow ` +
        'everything to it. Give it in one place.',
    );
  }
  return { topics: config.topics, tokens: [...config.tokens, ...all.map((token) => ({ token }))] };
}

/** Reads the file. No error shows its content, which may be a token. */
function readConfig(path: string): unknown {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw usageError(`--config names a file that cannot be read: ${(error as Error).message}`);
  }
  try {
    return parseExactJson(content);
  } catch (error) {
    if (error instanceof NoJsonError) throw usageError(`--config names a file that is no JSON. ${error.message}`);
    throw usageError(`--config: ${(error as Error).message}`);
  }
}

async function serve(
  cli: Cli,
  { topics, tokens }: GatewayConfig,
  where: Pick<Parameters<typeof import('../../gateway/serve-gateway.js').serveGateway>[0], 'host' | 'port' | 'limits'>,
): Promise<void> {
  // No other command needs the libraries that the gateway uses.
  const { serveGateway } = await import('../../gateway/serve-gateway.js');
  const tell = (text: string): void => cli.note(text);
  const log = { log: cli.isJson ? () => {} : tell, warn: tell, error: tell };
  const connection = await openGatewayConnection('nestjs-delay-queue', { ...cli.ownConnectionOptions, topics, log });
  try {
    await cli.interruptible(async (ended) => {
      const names = Object.keys(topics);
      const served = await listening('gateway', where, () =>
        serveGateway({
          ...where,
          queues: connection,
          topics: servedTopics(names),
          tokens,
          dismiss: async () => connection.stop(),
          log,
        }),
      );
      cli.print({ url: served.url, topics: names }, () => [`The gateway is at ${served.url}`]);
      if (!cli.isJson) {
        const whoMay = tokens.length === 0 ? 'Everybody on this machine may do everything.' : 'It needs a token.';
        cli.note(`It serves ${names.join(', ')}. ${whoMay} Ctrl-C ends it.`);
      }
      if (!ended.aborted) await once(ended, 'abort');
      await served.close();
    });
  } finally {
    await connection.close();
  }
}
