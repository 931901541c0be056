import { describe, expect, it } from 'vitest';
import { isNoScript, toBrokerError } from '../../../../lib/broker/redis/redis-errors.js';
import { BrokerUnavailableError } from '../../../../lib/errors/broker-unavailable.error.js';

/** What ioredis rejects with where the server answered with an error. */
function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

const AT = 'redis.example:6379';

describe('toBrokerError', () => {
  for (const [message, advice, transient] of [
    ["OOM command not allowed when used memory > 'maxmemory'.", 'maxmemory', false],
    ["READONLY You can't write against a read only replica.", 'read-only replica', true],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'ACL', false],
    ['NOAUTH Authentication required.', 'asks for a password', false],
    ['WRONGPASS invalid username-password pair', 'refused the user name or password', false],
    ['LOADING Redis is loading the dataset in memory', 'still loading', true],
    ['MISCONF Redis is configured to save RDB snapshots', 'cannot write its data to disk', false],
    ['CLUSTERDOWN The cluster is down', 'cluster is down', true],
    ['MASTERDOWN Link with MASTER is down', 'primary is down', true],
    ['TRYAGAIN Multiple keys request during rehashing of slot', '', true],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'did not write', false],
    ['ERR something else', '', false],
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:5.", 'maxmemory', false],
    // Redis 6 tells what went wrong in a script after its place in it.
    [
      "ERR Error running script (call to f_a1): @user_script:41: @user_script: 41: -OOM command not allowed when used memory > 'maxmemory'.",
      'maxmemory',
      false,
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
      expect(error.transient).toBe(transient);
      expect(error.cause).toBe(cause);
    });
  }

  for (const [error, text] of [
    [new Error('Connection is closed.'), 'the connection was lost'],
    [Object.assign(new Error('Reached the max …'), { name: 'MaxRetriesPerRequestError' }), 'the connection was lost'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'connect ECONNREFUSED'],
    [new Error('Socket timeout.'), 'Socket timeout.'],
  ] as const) {
    it(`says of '${error.message}' that it passes`, () => {
      expect(toBrokerError(error, AT)).toMatchObject({ transient: true, cause: error });
      expect(toBrokerError(error, AT).message).toBe(`Redis at ${AT} failed: ${text}`);
    });
  }

  it('makes something of whatever was thrown', () => {
    expect(toBrokerError('a text', AT).message).toBe(`Redis at ${AT} failed: a text`);
    expect(toBrokerError(undefined, AT)).toBeInstanceOf(BrokerUnavailableError);
  });

  it('leaves an error alone that is one of ours already', () => {
    const error = new BrokerUnavailableError('Redis at elsewhere failed: x', { transient: false });

    expect(toBrokerError(error, AT)).toBe(error);
  });
});

describe('isNoScript', () => {
  it('tells a forgotten script from everything else', () => {
    expect(isNoScript(reply('NOSCRIPT No matching script. Please use EVAL.'))).toBe(true);
    for (const other of [reply('ERR NOSCRIPT'), reply('NOPERM x'), 'NOSCRIPT', undefined]) {
      expect(isNoScript(other)).toBe(false);
    }
  });

  for (const [message, refused] of [
    ['WRONGTYPE Operation against a key holding the wrong kind of value', true],
    ['REFUSED the delay of an outcome is no number of milliseconds: nan', true],
    ['ERR value is not a valid float script: abc, on @user_script:77.', true],
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
      expect(toBrokerError(reply(message), AT).refused).toBe(refused);
    });
  }

  it('says of a lost connection that no call is refused', () => {
    expect(toBrokerError(new Error('Connection is closed.'), AT).refused).toBe(false);
  });
});
