import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChannelModel, connect } from 'amqplib';
import { programPath } from '../../../scripts/setup/programs.mjs';
import { folderOfRun, noteProcess } from '../processes/left-processes.js';
import { eventually } from '../waiting.js';
import { freePort } from './redis-server.js';

/** Where Debian has the program itself: what is in the path changes to another user, who may not write into a test's folder. */
const OF_DEBIAN = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** A RabbitMQ of a test's own on the loopback interface, with a port mapper of its own. */
export class RabbitMq {
  readonly url: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #mapper: ChildProcess;
  #broker: ChildProcess | undefined;

  private constructor(port: number, folder: string, mapper: ChildProcess, env: NodeJS.ProcessEnv) {
    this.url = `amqp://guest:guest@127.0.0.1:${port}`;
    this.#folder = folder;
    this.#mapper = mapper;
    this.#env = env;
  }

  static async start(): Promise<RabbitMq> {
    const folder = await mkdtemp(join(folderOfRun(), 'delay-queue-rabbitmq-'));
    const [port, nodes, mapping] = [await freePort(), await freePort(), await freePort()];
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'plugins'), '[].');
    const env = {
      ...process.env,
      HOME: folder,
      ERL_EPMD_PORT: String(mapping),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_NODENAME: `delay-queue-${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(nodes),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      RABBITMQ_LOGS: '-',
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
      RABBITMQ_CONFIG_FILE: join(folder, 'none'),
      RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
      // Otherwise a shell stands before it, and would be killed in its place.
      RABBITMQ_ALLOW_INPUT: '1',
    };
    const mapper = spawn('epmd', [], { env, stdio: 'ignore' });
    noteProcess(mapper);
    const rabbit = new RabbitMq(port, folder, mapper, env);
    await rabbit.startAgain();
    return rabbit;
  }

  /** Starts it with what it has on disk; resolves once it takes connections. */
  async startAgain(): Promise<void> {
    const program = existsSync(OF_DEBIAN) ? OF_DEBIAN : programPath('rabbitmq-server');
    const broker = spawn(program, [], { env: this.#env, stdio: ['pipe', 'pipe', 'pipe'] });
    noteProcess(broker);
    this.#broker = broker;
    let output = '';
    for (const stream of [broker.stdout, broker.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    await eventually(async () => {
      if (broker.exitCode !== null) throw new Error(`RabbitMQ has ended:\n${output}`);
      const connection = await this.connect();
      await connection.close();
    });
  }

  async connect(): Promise<ChannelModel> {
    return connect(this.url);
  }

  /** Freezes it, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#broker?.kill(name);
  }

  /** Ends it at once, as a crash would; what it has on disk stays. */
  async kill(): Promise<void> {
    await killed(this.#broker);
  }

  async stop(): Promise<void> {
    await Promise.all([this.kill(), killed(this.#mapper)]);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
