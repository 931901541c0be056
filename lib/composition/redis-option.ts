import { describe } from '../checks/describe.js';
import { isUrl } from '../checks/kinds.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { isHost, parseNode } from '../engines/redis/connection/redis-address.js';

const ALLOWED =
  "redis must be a URL (redis://host:port, rediss://host:port, or the path of a socket), 'embedded:', ioredis options, " +
  '{ nodes, options } or an ioredis instance.';

const EMBEDDED = 'embedded:';
const EMBEDDED_IN_PRODUCTION = 'embedded:?allowProduction';

const ENCODE =
  'If the user name or the password has one of @ : / ? # %, encode it: encodeURIComponent(password). What was given is not ' +
  'shown, since it may hold a password.';

/**
 * Checks the `redis` option. ioredis would take many wrong values for a host name, or ignore them, and then fail to connect. The error
 * shows nothing of the given value: a URL that cannot be read, or an address in the wrong place, can have its password anywhere.
 *
 * @throws InvalidArgumentError
 */
export function assertRedis(redis: unknown): void {
  if (typeof redis === 'string') return assertUrl(redis);
  if (Array.isArray(redis)) {
    throw new InvalidArgumentError(`${ALLOWED} Given: an array. The nodes of a Redis Cluster go into { nodes: […] }.`);
  }
  if (!isObject(redis)) throw new InvalidArgumentError(`${ALLOWED} Given: ${kindOf(redis)}.`);
  if (isUrl(redis)) throw new InvalidArgumentError(`${ALLOWED} Given: a URL object; give its href.`);
  if ('url' in redis) {
    throw new InvalidArgumentError(`redis has no option 'url': give the URL itself, redis: 'redis://host:port'.`);
  }
  if (isInstance(redis)) return assertInstance(redis);
  return 'nodes' in redis ? assertNodes(redis['nodes']) : assertAddress('redis', redis);
}

/** Whether messages are kept in the memory of this process. */
export function isEmbedded(redis: unknown): boolean {
  return redis === EMBEDDED || redis === EMBEDDED_IN_PRODUCTION;
}

function assertEmbedded(text: string): void {
  if (!isEmbedded(text)) {
    throw new InvalidArgumentError(
      `redis: 'embedded:' takes nothing but '?allowProduction' behind it. Given: ${describe(text)}.`,
    );
  }
  if (text === EMBEDDED && process.env['NODE_ENV'] === 'production') {
    throw new InvalidArgumentError(
      `redis: '${EMBEDDED}' is refused, since NODE_ENV is 'production': it keeps messages in the memory of this process, so all are lost ` +
        `when it ends. Give the URL of a Redis. If that loss is what you want, give '${EMBEDDED_IN_PRODUCTION}'.`,
    );
  }
}

function assertUrl(text: string): void {
  if (text.startsWith('/') && !text.startsWith('//')) return undefined;
  if (/^embedded\b/i.test(text)) return assertEmbedded(text);
  if (!/^rediss?:\/\//.test(text)) {
    const kind = text === '' ? 'an empty string' : 'a string with neither redis:// nor rediss:// before the host';
    throw new InvalidArgumentError(`${ALLOWED} Given: ${kind}.`);
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname || !isUnambiguous(url)) {
    throw new InvalidArgumentError(
      `redis is a URL that cannot be read. It must be redis://user:password@host:port/database. ${ENCODE}`,
    );
  }
  if (!/^\/?\d*$/.test(url.pathname)) {
    throw new InvalidArgumentError(
      `redis is a URL whose path is no database: after the host and port comes a whole number, as in redis://host:6379/2. ${ENCODE}`,
    );
  }
}

/** Whether each part of a URL is what its author meant: parts of an unencoded password end up after the host. */
function isUnambiguous({ username, password, pathname, search, hash }: URL): boolean {
  return hash === '' && !`${pathname}${search}`.includes('@') && isDecodable(username) && isDecodable(password);
}

function isDecodable(part: string): boolean {
  try {
    // The result is used, since a bundler drops a call of a built-in function whose result is unused.
    return decodeURIComponent(part).length <= part.length;
  } catch {
    return false;
  }
}

function assertInstance(instance: Record<string, unknown>): void {
  if (instance['isCluster'] === true) assertNodes(instance['startupNodes']);
  else assertAddress('redis', isObject(instance['options']) ? instance['options'] : {});
}

function assertNodes(nodes: unknown): void {
  if (!Array.isArray(nodes) || nodes.length === 0) {
    throw new InvalidArgumentError(
      `redis.nodes must be an array of one or more nodes of a Redis Cluster, as in [{ host, port }]. Given: ${kindOf(nodes)}.`,
    );
  }
  for (const [index, node] of nodes.entries()) assertNode(`redis.nodes[${index}]`, node);
}

function assertNode(name: string, node: unknown): void {
  if (isObject(node)) return assertAddress(name, node);
  if (typeof node === 'number' && isPort(node)) return undefined;
  const url = typeof node === 'string' ? parseNode(node) : undefined;
  if (url?.hostname && isUnambiguous(url)) return undefined;
  throw new InvalidArgumentError(
    `${name} must be { host, port }, a URL (redis://host:port) or a port. Given: ${kindOf(node)}. ${ENCODE}`,
  );
}

function assertAddress(name: string, options: Record<string, unknown>): void {
  const { host, port, path, sentinels } = options;
  if (given(host) && !isHost(host)) {
    throw new InvalidArgumentError(
      `${name}.host must be a host name or an IP address alone: a URL is given as redis: 'redis://host:port', a password as ` +
        `'password'. Given: ${kindOf(host)}.`,
    );
  }
  if (given(port) && !isPort(port)) {
    throw new InvalidArgumentError(`${name}.port must be a whole number from 0 to 65535. Given: ${kindOf(port)}.`);
  }
  if (given(path) && !(typeof path === 'string' && /^[/.\\\0]/.test(path) && !path.includes('://'))) {
    throw new InvalidArgumentError(
      `${name}.path must be the path of a socket, as in '/run/redis.sock'. Given: ${kindOf(path)}.`,
    );
  }
  if (!given(sentinels)) return;
  if (!Array.isArray(sentinels)) {
    throw new InvalidArgumentError(
      `${name}.sentinels must be an array of { host, port }. Given: ${kindOf(sentinels)}.`,
    );
  }
  for (const [index, sentinel] of sentinels.entries()) {
    if (!isObject(sentinel)) {
      throw new InvalidArgumentError(`${name}.sentinels[${index}] must be { host, port }. Given: ${kindOf(sentinel)}.`);
    }
    assertAddress(`${name}.sentinels[${index}]`, sentinel);
  }
}

/** Whether an option is given: for ioredis, null means that it is left out. */
function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isPort(port: unknown): boolean {
  const number = typeof port === 'string' && /^\d+$/.test(port) ? Number(port) : port;
  return Number.isInteger(number) && (number as number) >= 0 && (number as number) <= 65_535;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isInstance(redis: Record<string, unknown>): boolean {
  return typeof redis['duplicate'] === 'function';
}

/** Describes the kind of a value without its content. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
