import { Cluster, type ClusterNode, Redis } from 'ioredis';
import type { DelayQueueModuleOptions } from 'nestjs-delay-queue';
import { PRIMARY } from '../servers/redis-sentinel.js';

/** Used as every password and as each part of one. */
export const SECRET = 'S3CR3T';

export type Redises = NonNullable<DelayQueueModuleOptions['redis']>;

/** A value that does not compile, as JavaScript may pass it. */
function untyped(value: unknown): Redises {
  return value as Redises;
}

const lazy = { lazyConnect: true } as const;

/** Every right or wrong form of the option `redis`, with a secret wherever there may be one. Nothing listens at `port`. */
export function formsOfRedis(port: number): Readonly<Record<string, () => Redises>> {
  const at = `127.0.0.1:${port}`;
  const address = { host: '127.0.0.1', port };
  const STRINGS: Readonly<Record<string, () => string>> = {
    'a URL': () => `redis://user:${SECRET}@${at}/2`,
    'a URL without user': () => `redis://:${SECRET}@${at}`,
    'a URL of TLS': () => `rediss://user:${SECRET}@${at}`,
    'a URL with a query': () => `redis://${at}?password=${SECRET}&username=user`,
    'a URL without scheme': () => `user:${SECRET}@${at}`,
    'a URL without scheme and user': () => `:${SECRET}@${at}`,
    'a URL without scheme, with a query': () => `${at}?password=${SECRET}`,
    'a URL without protocol': () => `//user:${SECRET}@${at}`,
    'a URL of another scheme': () => `http://user:${SECRET}@${at}`,
    'a URL with a misspelt scheme': () => `redis:/user:${SECRET}@${at}`,
    'a URL without a port that is one': () => `redis://user:${SECRET}@127.0.0.1:port`,
    'a URL without host': () => `redis://user:${SECRET}@`,
    'a URL with a password with a slash': () => `redis://user:${SECRET}/${SECRET}@${at}`,
    'a URL with a password that begins like a port, with a slash': () => `redis://user:12/${SECRET}@${at}`,
    'a URL with a password that begins like a port, with a hash': () => `redis://user:12#${SECRET}@${at}`,
    'a URL with a password that begins like a port, with a question mark': () => `redis://user:12?${SECRET}@${at}`,
    'a URL with a password that begins like a port and a database': () => `redis://user:12/3${SECRET}@${at}`,
    'a URL with a password with a percent sign': () => `redis://user:${SECRET}%@${at}`,
    'a URL with a password for a database': () => `redis://${at}/${SECRET}`,
    'a path with a query': () => `/nowhere/redis.sock?password=${SECRET}`,
    'a text': () => SECRET,
  };

  const NODES: Readonly<Record<string, () => unknown>> = {
    'a URL': () => `redis://user:${SECRET}@${at}`,
    'a URL of TLS': () => `rediss://user:${SECRET}@${at}`,
    'a URL without scheme': () => `user:${SECRET}@${at}`,
    'a URL without protocol': () => `//user:${SECRET}@${at}`,
    'a URL with a query': () => `redis://${at}?password=${SECRET}`,
    'a URL that cannot be read': () => `redis://user:${SECRET}@127.0.0.1:port`,
    'a URL with a password with a slash': () => `redis://user:${SECRET}/${SECRET}@${at}`,
    'a URL with a password with a percent sign': () => `redis://user:${SECRET}%@${at}`,
    'a URL with a database': () => `redis://user:${SECRET}@${at}/3`,
    options: () => ({ ...address, username: 'user', password: SECRET }),
    'options with a URL for a host': () => ({ host: `redis://user:${SECRET}@127.0.0.1`, port }),
    'options with a password for a port': () => ({ host: '127.0.0.1', port: SECRET }),
    'an array': () => [`redis://user:${SECRET}@${at}`],
    nothing: () => null,
  };

  return {
    ...STRINGS,
    options: () => ({ ...address, username: 'user', password: SECRET }),
    'options of TLS': () => ({ ...address, password: SECRET, tls: { passphrase: SECRET, key: SECRET } }),
    'options of TLS of a wrong type': () =>
      untyped({ ...address, tls: { passphrase: [SECRET], key: { [SECRET]: SECRET }, cert: SECRET } }),
    'options with a URL for a host': () => ({ host: `redis://user:${SECRET}@127.0.0.1`, port }),
    'options with a password before the host': () => ({ host: `user:${SECRET}@127.0.0.1`, port }),
    'options with a password for a port': () => untyped({ host: '127.0.0.1', port: SECRET }),
    'options with a path': () => ({ path: '/nowhere/redis.sock', password: SECRET }),
    'options with a URL for a path': () => ({ path: `redis://user:${SECRET}@${at}` }),
    'options with a URL': () => untyped({ url: `redis://user:${SECRET}@${at}` }),
    'options with a password for a database': () => untyped({ ...address, db: SECRET }),
    sentinels: () => ({
      sentinels: [address, address],
      name: PRIMARY,
      username: 'user',
      password: SECRET,
      sentinelUsername: 'user',
      sentinelPassword: SECRET,
    }),
    'sentinels of TLS': () => ({
      sentinels: [address],
      name: PRIMARY,
      sentinelTLS: { passphrase: SECRET, key: SECRET },
      enableTLSForSentinelMode: true,
    }),
    'sentinels as URLs': () => untyped({ sentinels: [`redis://:${SECRET}@${at}`], name: PRIMARY }),
    'sentinels with a URL for a host': () => ({ sentinels: [{ host: `redis://:${SECRET}@h` }], name: PRIMARY }),
    'sentinels that are one URL': () => untyped({ sentinels: `redis://:${SECRET}@${at}`, name: PRIMARY }),
    ...Object.fromEntries(
      Object.entries(NODES).map(([what, node]) => [
        `nodes, the second one as ${what}`,
        () => untyped({ nodes: [address, node()], options: { redisOptions: { password: SECRET } } }),
      ]),
    ),
    'nodes as ports': () => ({ nodes: [port], options: { redisOptions: { username: 'user', password: SECRET } } }),
    'nodes that are one URL': () => untyped({ nodes: `redis://user:${SECRET}@${at}` }),
    'no nodes': () => ({ nodes: [], options: { redisOptions: { password: SECRET } } }),
    'nodes of TLS': () => ({
      nodes: [`rediss://user:${SECRET}@${at}`],
      options: { redisOptions: { tls: { passphrase: SECRET, key: SECRET } } },
    }),
    'nodes with a database': () => ({
      nodes: [address],
      options: { redisOptions: { db: 3, password: SECRET } },
    }),
    'an instance made of a URL': () => new Redis(`redis://user:${SECRET}@${at}`, lazy),
    'an instance made of options': () => new Redis({ ...address, username: 'user', password: SECRET, ...lazy }),
    'an instance with a URL for a host': () => new Redis({ host: `redis://user:${SECRET}@h`, ...lazy }),
    'an instance with a password for a database': () => new Redis(`redis://${at}/${SECRET}`, lazy),
    'an instance with sentinels': () =>
      new Redis({ sentinels: [address], name: PRIMARY, password: SECRET, sentinelPassword: SECRET, ...lazy }),
    ...Object.fromEntries(
      Object.entries(NODES).map(([what, node]) => [
        `an instance of a cluster, of which a node is ${what}`,
        () =>
          new Cluster([node() as ClusterNode, port], { ...lazy, redisOptions: { username: 'u', password: SECRET } }),
      ]),
    ),
    'an array of a URL': () => untyped([`redis://user:${SECRET}@${at}`]),
    'an array of options': () => untyped([{ ...address, password: SECRET }]),
    'an array of arrays': () => untyped([[SECRET]]),
    'a URL object': () => untyped(new URL(`redis://user:${SECRET}@${at}`)),
    'a function': () => untyped({ [SECRET]: () => SECRET }[SECRET]),
    'a symbol': () => untyped(Symbol(SECRET)),
  };
}
