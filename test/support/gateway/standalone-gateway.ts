import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderOfRun } from '../processes/left-processes.js';
import { TestProcess } from '../processes/test-process.js';
import { type Gateway, type GatewaySettings, READ_TOKEN, TOKEN } from './gateway.js';

/** The command line as it is built. */
const PROGRAM = 'dist/cjs/cli/index.js';

const SAYS = 'The gateway is at ';

/** A gateway that is a process. */
export interface StandaloneGateway extends Gateway {
  readonly program: TestProcess;
}

/** Starts the gateway as a process of its own: `nestjs-delay-queue gateway`. */
export async function startStandaloneGateway({
  redisUrl,
  topics,
  topicOptions = { partitions: 2 },
  publishTimeout,
}: GatewaySettings): Promise<StandaloneGateway> {
  const folder = await mkdtemp(join(folderOfRun(), 'delay-queue-gateway-'));
  const config = join(folder, 'gateway.json');
  const rights = (...some: string[]) => Object.fromEntries(topics.map((topic) => [topic, some]));
  await writeFile(
    config,
    JSON.stringify({
      topics: Object.fromEntries(topics.map((topic) => [topic, topicOptions])),
      tokens: [
        { name: 'everything', token: TOKEN, rights: rights('publish', 'receive', 'read', 'operate') },
        { name: 'looking', token: READ_TOKEN, rights: rights('read') },
      ],
    }),
  );
  const timeout = publishTimeout === undefined ? [] : ['--redis-timeout', `${publishTimeout}ms`];
  const program = new TestProcess('the gateway', PROGRAM, [
    'gateway',
    '--redis',
    redisUrl,
    '--config',
    config,
    ...timeout,
  ]);
  const close = async (): Promise<void> => {
    if (program.running) program.signal('SIGTERM');
    await program.exit();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const line = await program.printed(SAYS);
    return { url: line.slice(SAYS.length).trim(), program, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts an application with a gateway as a process of its own. */
export async function startGatewayProgram(settings: GatewaySettings): Promise<StandaloneGateway> {
  const program = new TestProcess('the application', 'dist-test/fleet/programs/nest-gateway.js', [
    JSON.stringify(settings),
  ]);
  const line = await program.printed(SAYS);
  return { url: line.slice(SAYS.length).trim(), program, close: async () => program.kill() };
}
