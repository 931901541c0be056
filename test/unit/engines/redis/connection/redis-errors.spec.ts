import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  isNoScript,
  isRefusedDatabase,
  rootOf,
  toBrokerError,
  withoutSecrets,
} from '../../../../../lib/engines/redis/connection/redis-errors.js';
import { BrokerUnavailableError } from '../../../../../lib/errors/operation.errors.js';
import { failureOf } from '../../../../support/units/wrong-options.js';

/** The error of ioredis if the server answered with an error. */
function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** The same for a SELECT. */
function select(message: string): Error {
  return Object.assign(reply(message), { command: { name: 'select', args: ['99'] } });
}

const AT = 'redis.example:6379';

describe('toBrokerError', () => {
  for (const [message, advice, transient] of [
    ["OOM command not allowed when used memory > 'maxmemory'.", 'maxmemory', true],
    ["READONLY You can't write against a read only replica.", 'read-only replica', true],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'ACL', false],
    ['NOAUTH Authentication required.', 'asks for a password', false],
    ['WRONGPASS invalid username-password pair', 'refused the user name or password', false],
    ['LOADING Redis is loading the dataset in memory', 'still loading', true],
    ['MISCONF Redis is configured to save RDB snapshots', 'cannot write its data to disk', true],
    ['MISCONF Valkey is configured to save RDB snapshots', 'cannot write its data to disk', true],
    ['NOREPLICAS Not enough good replicas to write.', 'min-replicas-to-write', true],
    ['NOREPLICAS Not enough good replicas to write. script: abc, on @user_script:1.', 'min-replicas-to-write', true],
    [
      'ERR Error running script (call to f_a1): @user_script:1: @user_script: 1: -NOREPLICAS Not enough good replicas to write.',
      'min-replicas-to-write',
      true,
    ],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'too long', true],
    ['BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'too long', true],
    [
      'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
      'has become a replica',
      true,
    ],
    ['CLUSTERDOWN The cluster is down', 'cluster is down', true],
    ['CLUSTERDOWN Hash slot not served', 'no node of it serves this slot', true],
    ['MASTERDOWN Link with MASTER is down', 'primary is down', true],
    ['TRYAGAIN Multiple keys request during rehashing of slot', '', true],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'did not write', false],
    ['ERR something else', '', false],
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:5.", 'maxmemory', true],
    // Redis 6 names the place in the script before the error.
    [
      "ERR Error running script (call to f_a1): @user_script:41: @user_script: 41: -OOM command not allowed when used memory > 'maxmemory'.",
      'maxmemory',
      true,
    ],
    [
      "ERR Error running script (call to f_a1): @user_script:5: @user_script: 5: -READONLY You can't write against a read only replica.",
      'read-only replica',
      true,
    ],
    [
      'ERR Error running script (call to f_a1): @user_script:5: WRONGTYPE Operation against a key holding the wrong kind of value',
      'did not write',
      false,
    ],
    ["ERR The user executing the script can't run this command or subcommand script: abc", 'ACL', false],
    [
      "ERR The user executing the script can't publish to the channel mentioned in the command script: abc",
      'ACL',
      false,
    ],
    // Since Redis 7.2, and in Valkey.
    ["ERR ACL failure in script: User app has no permissions to run the 'zadd' command script: abc", 'ACL', false],
    ['ERR ACL failure in script: No permissions to access a key script: abc, on @user_script:33.', 'ACL', false],
    ['ERR ACL failure in script: No permissions to access a channel script: abc', 'ACL', false],
    ["NOPERM ACL failure in script: User app has no permissions to run the 'zadd' command script: abc", 'ACL', false],
    [
      "READONLY You can't write against a read only replica. script: abc, on @user_script:77.",
      'read-only replica',
      true,
    ],
  ] as const) {
    it(`says of '${message.slice(0, 60)}' that it ${transient ? 'passes' : 'does not pass'}${advice && ', and what it means'}`, () => {
      const cause = reply(message);
      const error = toBrokerError(cause, AT);

      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error.code).toBe('BROKER_UNAVAILABLE');
      expect(error.message.startsWith(`Redis at ${AT} failed: `)).toBe(true);
      expect(error.message).toContain(advice);
      expect(error.message).toContain(message);
      expect(error).toMatchObject({ transient });
      expect(error.cause).toBe(cause);
    });
  }

  for (const [error, text] of [
    [new Error('Connection is closed.'), 'the connection was lost'],
    [Object.assign(new Error('Reached the max …'), { name: 'MaxRetriesPerRequestError' }), 'the connection was lost'],
    [new Error('Ready check failed: Connection is closed.'), 'the connection was lost'],
    [new Error('Too many Cluster redirections. Last error: Error: Connection is closed.'), 'the connection was lost'],
    [new Error('Too many Cluster redirections. Last error: ReplyError: MOVED 1 a:1'), 'the connection was lost'],
    [
      new Error('Ready check failed: Reached the max retries per request limit (which is 0).'),
      'the connection was lost',
    ],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'connect ECONNREFUSED'],
    [new Error('Socket timeout.'), 'Socket timeout.'],
  ] as const) {
    it(`says of '${error.message}' that it passes`, () => {
      expect(toBrokerError(error, AT)).toMatchObject({ transient: true, cause: error });
      expect(toBrokerError(error, AT).message).toBe(`Redis at ${AT} failed: ${text}`);
    });
  }

  it('accepts whatever was thrown', () => {
    expect(toBrokerError('a text', AT).message).toBe(`Redis at ${AT} failed: a text`);
    expect(toBrokerError(undefined, AT)).toBeInstanceOf(BrokerUnavailableError);
  });

  it('does not change an error that is already ours', () => {
    const error = new BrokerUnavailableError('Redis at elsewhere failed: x', { transient: false });

    expect(toBrokerError(error, AT)).toBe(error);
  });
});

describe('a database that was refused', () => {
  for (const [message, ...says] of [
    ['ERR DB index is out of range', 'there is no database 99', "'databases'"],
    ["NOPERM this user has no permissions to run the 'select' command", 'database 99', '+select'],
    ["NOPERM User app has no permissions to run the 'select' command", 'database 99', '+select'],
    ['ERR SELECT is not allowed in cluster mode', 'database 99', 'database 0 only'],
  ] as const) {
    it(`is reported with advice: '${message}'`, () => {
      const error = toBrokerError(select(message), AT);

      expect(error).toMatchObject({ transient: false });
      for (const text of [message, ...says]) expect(error.message).toContain(text);
    });
  }

  it('is not assumed if the server wants a password first', () => {
    expect(isRefusedDatabase(select('NOAUTH Authentication required.'))).toBe(false);
    expect(isRefusedDatabase(select('ERR DB index is out of range'))).toBe(true);
    expect(isRefusedDatabase(reply('ERR DB index is out of range'))).toBe(false);
  });
});

describe('withoutSecrets', () => {
  const SECRET = 'pass-word';

  it('keeps the error, and removes the arguments of its command', () => {
    const error = Object.assign(reply('WRONGPASS invalid username-password pair'), {
      command: { name: 'auth', args: ['user', SECRET] },
    });

    const cleaned = withoutSecrets(error);

    expect(cleaned).toBe(error);
    expect(cleaned).toMatchObject({ name: 'ReplyError', command: { name: 'auth' } });
    expect(inspect(cleaned, { depth: null })).not.toContain(SECRET);
  });

  for (const [what, make] of Object.entries<() => Error>({
    'a URL that cannot be read': () => failureOf(() => new URL(`redis://user:${SECRET}@host:port`)),
    'a command that the server does not know': () =>
      reply(`ERR unknown command \`AUTH\`, with args beginning with: \`user\`, \`${SECRET}\`, `),
    'an option of a wrong type': () =>
      new TypeError(`The "options.key" property must be of type string. Received type string ('${SECRET}')`),
  })) {
    it(`leaves nothing of ${what}, neither in the text nor in the stack`, () => {
      expect(inspect(make(), { depth: null })).toContain(SECRET);
      expect(inspect(withoutSecrets(make()), { depth: null })).not.toContain(SECRET);
    });
  }

  it('follows all causes, even in a circle', () => {
    const bottom = Object.assign(new Error('bottom'), { command: { name: 'hello', args: ['3', 'AUTH', SECRET] } });
    const node = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: bottom });
    const top = new Error('top', { cause: node });
    bottom.cause = top;

    expect(inspect(withoutSecrets(top), { depth: null })).not.toContain(SECRET);
  });

  it('does not change what is not an error', () => {
    expect(withoutSecrets('a text')).toBe('a text');
    expect(withoutSecrets(undefined)).toBeUndefined();
  });
});

describe('rootOf', () => {
  const node = new Error('ERR This instance has cluster support disabled');
  for (const [message, error, root] of [
    [
      'the last node',
      Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: node }),
      node.message,
    ],
    [
      'the last Sentinel',
      new Error('All sentinels are unreachable. Retrying from scratch after 20ms. Last error: Connection is closed.'),
      'Connection is closed.',
    ],
    [
      'Sentinels that do not know the primary',
      new Error('All sentinels are unreachable. Retrying from scratch after 20ms.'),
      'the Sentinels answer, and none of them knows a primary of that name',
    ],
    ['itself', new Error('connect ECONNREFUSED'), 'connect ECONNREFUSED'],
  ] as const) {
    it(`finds ${message}`, () => {
      expect(rootOf(error).message).toBe(root);
    });
  }
});

describe('isNoScript', () => {
  it('recognizes only a forgotten script', () => {
    expect(isNoScript(reply('NOSCRIPT No matching script. Please use EVAL.'))).toBe(true);
    for (const other of [reply('ERR NOSCRIPT'), reply('NOPERM x'), 'NOSCRIPT', undefined]) {
      expect(isNoScript(other)).toBe(false);
    }
  });

  for (const [message, refused] of [
    ['WRONGTYPE Operation against a key holding the wrong kind of value', true],
    ['REFUSED the delay of an outcome is no number of milliseconds: nan', true],
    ['ERR value is not a valid float script: abc, on @user_script:77.', true],
    ['ERR Script killed by user with SCRIPT KILL... script: abc, on @user_script:1.', false],
    ["ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'", false],
    ['ERR Error running script (call to f_a1): @user_script: 1: -NOREPLICAS Not enough good replicas to write.', false],
    ['ERR user_script:56: attempt to compare nil with number script: abc, on @user_script:56.', true],
    ['ERR Error running script (call to f_a1): @user_script:5: ERR value is not a valid float', true],
    ['ERR Error running script (call to f_a1): @user_script:5: WRONGTYPE Operation against a key', true],
    ['ERR value is not a valid float', false],
    ['NOREPLICAS Not enough good replicas to write. script: abc, on @user_script:5.', false],
    ['ERR Error running script (call to f_a1): @user_script:5: @user_script: 5: -NOREPLICAS Not enough', false],
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:5.", false],
    [
      "ERR ACL failure in script: User app has no permissions to run the 'zadd' command script: abc, on @user_script:5.",
      false,
    ],
    ["ERR The user executing the script can't run this command script: abc, on @user_script:5.", false],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL', false],
    ['ERR This Redis command is not allowed from script script: abc, on @user_script:3.', false],
  ] as const) {
    it(`says of '${message.slice(0, 60)}' that ${refused ? 'this call alone' : 'no such call'} is refused`, () => {
      expect(toBrokerError(reply(message), AT)).toHaveProperty('refused', refused);
    });
  }

  it('says of a lost connection that no call is refused', () => {
    expect(toBrokerError(new Error('Connection is closed.'), AT)).toHaveProperty('refused', false);
  });
});
