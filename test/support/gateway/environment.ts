import type { PrivateRedis } from '../servers/redis-server.js';
import { startRedis } from '../servers/redis-server.js';
import { startTlsServer } from '../servers/tls-server.js';
import { BrokenProxy } from './broken-proxy.js';
import { startLossyProxy } from './lossy-proxy.js';
import { startOddProxy } from './odd-proxy.js';
import { startNestGateway } from './nest-gateway.js';
import { type Gateway, type GatewaySettings, READ_TOKEN, TOKEN } from './gateway.js';
import { startStandaloneGateway } from './standalone-gateway.js';

/** In which way the gateway is served. */
export type GatewayKind = 'standalone' | 'nest';

/** Each client has topics of its own, so that the tests of several may run at the same time. */
export const CLIENTS = ['python', 'php', 'go', 'curl'] as const;

/** Topics of each client: `python.01` and so on. */
const TOPICS = 60;

const START = { standalone: startStandaloneGateway, nest: startNestGateway } as const;

/** What the tests of clients run against, see `clients/BEHAVIOUR.md`. */
export interface GatewayEnvironment {
  /** For the tests of one client. */
  variables(client: string): Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts two gateways, each on a Redis of its own, and takes the Redis of the second one away. */
export async function startGatewayEnvironment(kind: GatewayKind): Promise<GatewayEnvironment> {
  const opened: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const end of opened.toReversed()) await end();
  };
  const open = async (redis: PrivateRedis, settings: Partial<GatewaySettings> = {}): Promise<Gateway> => {
    opened.push(async () => redis.stop());
    const gateway = await START[kind]({ redisUrl: redis.url, topics: topicNames(), ...settings });
    opened.push(async () => gateway.close());
    return gateway;
  };
  try {
    const gateway = await open(await startRedis());
    const lostRedis = await startRedis();
    const away = await open(lostRedis, { publishTimeout: 1000 });
    await lostRedis.kill();
    const lossy = await startLossyProxy(gateway.url);
    opened.push(async () => lossy.close());
    const broken = await BrokenProxy.start(gateway.url);
    opened.push(() => broken.close());
    const odd = await startOddProxy(gateway.url);
    opened.push(async () => odd.close());
    const { port, pathname } = new URL(gateway.url);
    const untrusted = await startTlsServer(Number(port));
    opened.push(async () => untrusted.stop());
    const common = {
      GATEWAY_URL: gateway.url,
      GATEWAY_TOKEN: TOKEN,
      GATEWAY_READ_TOKEN: READ_TOKEN,
      GATEWAY_LOSSY_URL: lossy.url,
      GATEWAY_AWAY_URL: away.url,
      GATEWAY_BROKEN_URL: broken.url,
      GATEWAY_ODD_URL: odd.url,
      GATEWAY_UNTRUSTED_URL: `https://127.0.0.1:${untrusted.port}${pathname.replace(/\/$/, '')}`,
    };
    return { variables: (client) => ({ ...common, GATEWAY_TOPIC_PREFIX: client }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function topicNames(): string[] {
  const numbers = Array.from({ length: TOPICS }, (_, i) => String(i + 1).padStart(2, '0'));
  return CLIENTS.flatMap((client) => numbers.map((number) => `${client}.${number}`));
}
