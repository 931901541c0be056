import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { rabbitmqServer } from '../../../scripts/setup/rabbitmq.mjs';
import { folderOfRun, noteProcess } from '../processes/left-processes.js';
import { until } from '../waiting.js';
import { freePort } from './redis-server.js';

/** How long a RabbitMQ may take to start on a busy host, in milliseconds. */
const STARTS_WITHIN = 90_000;

/** A RabbitMQ of a test's own, on free ports of the loopback interface, with a folder and a port mapper of its own. */
export class PrivateRabbitMq {
  readonly #folder: string;
  readonly #port: number;
  readonly #env: NodeJS.ProcessEnv;
  readonly #mapper: ChildProcess;
  #server: ChildProcess | undefined;
  #output = '';

  private constructor(folder: string, port: number, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#port = port;
    this.#env = env;
    // Without one, the server would start one that goes on when the server has ended.
    this.#mapper = spawn('epmd', [], { env, stdio: 'ignore' });
    noteProcess(this.#mapper);
  }

  static async start(): Promise<PrivateRabbitMq> {
    const folder = await mkdtemp(join(folderOfRun(), 'delay-queue-rabbitmq-'));
    const plugins = join(folder, 'enabled_plugins');
    await writeFile(plugins, '[].\n');
    const port = await freePort();
    const [mapperPort, distributionPort] = [await freePort(), await freePort()];
    const rabbitmq = new PrivateRabbitMq(folder, port, {
      PATH: process.env['PATH'],
      LC_ALL: 'C.UTF-8',
      HOME: folder,
      ERL_EPMD_ADDRESS: '127.0.0.1',
      ERL_MAX_PORTS: '4096',
      ERL_EPMD_PORT: String(mapperPort),
      RABBITMQ_NODENAME: 'delay-queue@localhost',
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distributionPort),
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
      RABBITMQ_CONF_ENV_FILE: join(folder, 'none.conf'),
      RABBITMQ_CONFIG_FILE: join(folder, 'none'),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    });
    try {
      await rabbitmq.startAgain();
    } catch (error) {
      await rabbitmq.stop();
      throw error;
    }
    return rabbitmq;
  }

  get url(): string {
    return `amqp://127.0.0.1:${this.#port}`;
  }

  /** Starts it, also after a {@link kill}; resolves once it greets. */
  async startAgain(): Promise<void> {
    const server = spawn(rabbitmqServer(), [], {
      env: this.#env,
      cwd: this.#folder,
      // A group of its own, since it is a script with the server as its child.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#server = server;
    noteProcess(server);
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
    const starting = until('RabbitMQ to start', async () => greets(this.#port), STARTS_WITHIN);
    const failed = once(server, 'exit').then(() => Promise.reject(new Error(`RabbitMQ has ended:\n${this.#output}`)));
    failed.catch(() => {});
    await Promise.race([starting, failed]).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\n${this.#output}`, { cause: error });
    });
  }

  /** Ends it at once, as a crash would; what it has on disk stays. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    process.kill(-server.pid, 'SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    this.#mapper.kill('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether it answers a client of another protocol with the version of its own, as the protocol wants it. */
async function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new Socket();
    socket.once('data', (data) => resolve(data.toString().startsWith('AMQP')));
    socket.once('error', () => resolve(false));
    socket.once('close', () => {
      socket.destroy();
      resolve(false);
    });
    socket.connect(port, '127.0.0.1', () => socket.write('GREET...'));
  });
}
