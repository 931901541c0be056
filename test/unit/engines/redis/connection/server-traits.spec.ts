import { describe, expect, it } from 'vitest';
import type { RedisClient } from '../../../../../lib/engines/redis/connection/redis-clients.js';
import { findTraits } from '../../../../../lib/engines/redis/connection/server-info.js';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

const NOT_COMPILED = reply("ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'");

/** A server that answers scripts with flags, and plain ones, in this way. */
function serverOf({ flagged, plain = flagged }: { flagged: string | Error; plain?: string | Error }): RedisClient {
  const evaluate = async (script: string): Promise<unknown> => {
    const answer = script.startsWith('#!lua') ? flagged : plain;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { eval: evaluate } as unknown as RedisClient;
}

describe('findTraits', () => {
  it.each([
    ['Redis 7', 'ERR Wrong number of args calling Redis command from script'],
    ['Valkey', 'ERR Wrong number of args calling command from script'],
    ['Dragonfly', "ERR wrong number of arguments for 'spublish' command"],
    ['a server that looks at rights first', "NOPERM this user has no permissions to run the 'spublish' command"],
    ['the same within a script', "ERR ACL failure in script: User u has no permissions to run the 'spublish' command"],
  ])('finds sharded pub/sub by what SPUBLISH misses: %s', async (_, said) => {
    expect(await findTraits(serverOf({ flagged: said }))).toEqual({ scriptFlags: true, shardedPubSub: true });
  });

  it.each([
    ['Redis 7 without the command', 'ERR Unknown Redis command called from script'],
    ['Redis 6.2', '@user_script: 1: Unknown Redis command called from Lua script'],
    ['Upstash', "ERR Command is not available: 'SPUBLISH'."],
  ])('finds that there is none: %s', async (_, said) => {
    expect(await findTraits(serverOf({ flagged: said }))).toEqual({ scriptFlags: true, shardedPubSub: false });
  });

  it.each([
    ['does not compile them', NOT_COMPILED],
    ['does not know this one', reply('ERR Unexpected flag in script shebang: allow-oom')],
  ])('finds that scripts have no flags if the server %s', async (_, flagged) => {
    const server = serverOf({ flagged, plain: "ERR wrong number of arguments for 'spublish' command" });
    expect(await findTraits(server)).toEqual({ scriptFlags: false, shardedPubSub: true });
  });

  it.each([
    ['no scripts run at all', reply("NOPERM this user has no permissions to run the 'eval' command")],
    ['the server is loading', reply('LOADING Redis is loading the dataset in memory')],
    ['the connection is lost', new Error('Connection is closed.')],
  ])('rejects instead of deciding if %s', async (_, failure) => {
    await expect(findTraits(serverOf({ flagged: failure }))).rejects.toBe(failure);
  });
});
