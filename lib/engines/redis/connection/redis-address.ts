import { isIPv6 } from 'node:net';
import type { Cluster, ClusterNode, Redis, RedisOptions } from 'ioredis';

/** Where a server listens. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };

/** The defaults of ioredis. */
const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26_379;
const DEFAULT_NODE_HOST = '127.0.0.1';

/** Matches a host name or an IP address, and so neither a URL nor anything with a password. */
const HOST = /^[\w.:%-]+$/;

/**
 * Returns the addresses of a server or its Sentinels, for messages, and the database unless it is the first. It shows nothing else of
 * the options: any of them may hold a password.
 */
export function addressOf(options: RedisOptions): string {
  const addresses = endpointsOf(options).map(endpointText).join(', ');
  const servers = options.sentinels?.length ? `sentinels ${addresses} (${options.name})` : addresses;
  const { db = 0 } = options;
  return Number.isInteger(db) && db !== 0 ? `${servers} (database ${db})` : servers;
}

/** Returns the same for the nodes of a cluster. */
export function clusterAddress(nodes: readonly ClusterNode[]): string {
  return `cluster ${nodes.map((node) => endpointText(nodeEndpoint(node))).join(', ')}`;
}

/** Returns the nodes that a client of a cluster was given, even if it was never connected. */
export function startupNodesOf(cluster: Cluster): readonly ClusterNode[] {
  const { startupNodes = [] } = cluster as unknown as { readonly startupNodes?: readonly ClusterNode[] };
  return startupNodes;
}

/** Returns the servers that a client asks first: its own, its Sentinels, or the nodes it was given. */
export function clientEndpoints(client: Redis | Cluster): Endpoint[] {
  return client.isCluster
    ? startupNodesOf(client as Cluster).map(nodeEndpoint)
    : endpointsOf((client as Redis).options);
}

function endpointsOf({ sentinels, path, host = 'localhost', port = DEFAULT_PORT }: RedisOptions): Endpoint[] {
  if (sentinels?.length) {
    return sentinels.map((sentinel) => ({
      host: sentinel.host ?? 'localhost',
      port: sentinel.port ?? DEFAULT_SENTINEL_PORT,
    }));
  }
  return [path ? { path } : { host, port }];
}

function nodeEndpoint(node: ClusterNode): Endpoint {
  if (typeof node === 'object') return { host: node.host ?? DEFAULT_NODE_HOST, port: node.port ?? DEFAULT_PORT };
  if (typeof node === 'number' || /^\d+$/.test(node)) return { host: DEFAULT_NODE_HOST, port: Number(node) };
  const url = parseNode(node);
  return { host: url?.hostname.replace(/^\[|\]$/g, '') ?? '', port: Number(url?.port || DEFAULT_PORT) };
}

/** Parses a node's URL as ioredis does, which puts a scheme before one that has none. */
export function parseNode(node: string): URL | undefined {
  const url = /^rediss?:\/\//i.test(node) ? node : `redis://${node.replace(/^\/\//, '')}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** Returns the database that a node of a cluster was given with. */
export function databaseOf(node: ClusterNode): number {
  const given = typeof node === 'object' ? (node as RedisOptions).db : parseNode(String(node))?.pathname.slice(1);
  return Number(given ?? 0);
}

/** Whether a server is on this machine, as far as its address says. */
export function isLocal(endpoint: Endpoint): endpoint is { readonly host: string; readonly port: number } {
  return 'host' in endpoint && /^(localhost|127\..*|::1)$/.test(endpoint.host);
}

/** Whether a host is a name or an IP address. */
export function isHost(host: unknown): boolean {
  return typeof host === 'string' && HOST.test(host);
}

function endpointText(endpoint: Endpoint): string {
  if ('path' in endpoint) return endpoint.path;
  const { host, port } = endpoint;
  if (!isHost(host)) return '(a host that is not shown)';
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
