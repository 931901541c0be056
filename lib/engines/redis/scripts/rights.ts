import { prefixInKeys } from '../../../store/keys.js';
import { ROLES, type Role, type ScriptName } from '../../../store/lua/lua-script.js';
import { SCRIPTS } from '../../../store/lua/script-sources.js';
import { SCRIPT_NAMES } from './scripts.js';

export { ROLES, type Role };

/** Commands that every role needs beside scripts. On a Redis without script flags, scripts begin with DEL. */
const COMMON = ['DEL', 'EVAL', 'EVALSHA', 'HGET', 'HGETALL', 'HMGET', 'INFO', 'TIME', 'ZRANGEBYLEX'];

/** Commands for subscribing, for asking whether a channel's node answers, and for the events of the fleet. */
const LISTENING = ['PTTL', 'SUBSCRIBE', 'UNSUBSCRIBE', 'XREAD', 'XREVRANGE'];

/** Commands that find schedules, and what is known of them. */
const SCHEDULES = ['HSCAN', 'ZMSCORE'];

/** Commands sent beside scripts: the search for an id, sessions and topics, signals, and what a connection asks at its start. */
const PLAIN: Readonly<Record<Role, readonly string[]>> = {
  producer: COMMON,
  consumer: [...COMMON, ...LISTENING, ...SCHEDULES, 'HSET', 'HSETNX', 'PUBLISH'],
  // The last ones are for the doctor, and HSETNX for an import.
  operator: [...COMMON, ...LISTENING, ...SCHEDULES, 'HSETNX', 'CONFIG|GET', 'SCAN', 'SLOWLOG|GET', 'WAIT'],
};

/** Signals within a shard, by the command that has the same part elsewhere. */
const SHARDED: Readonly<Record<string, string>> = {
  PUBLISH: 'SPUBLISH',
  SUBSCRIBE: 'SSUBSCRIBE',
  UNSUBSCRIBE: 'SUNSUBSCRIBE',
};

/** Commands that ioredis sends to a Cluster. */
const OF_CLUSTER = ['ASKING', 'CLUSTER|INFO', 'CLUSTER|SLOTS'];

/** Matches the commands that scripts call by name, and those in the trial of all of them. */
const CALL = /\b(?:p?call|try)\('([A-Z]+)'/g;

/** Matches a command that a script may call in another way than by its name at that place. */
const WORD = /'([A-Z]+)'/g;

/** Found only once: that takes long, and each call of a process with a restricted user needs it. */
let commandsOfScripts: ReadonlyMap<ScriptName, readonly string[]> | undefined;

/** Returns the Redis commands that a script calls; for signals, that of a server without shards. */
export function commandsOfScript(name: ScriptName): readonly string[] {
  commandsOfScripts ??= findCommands();
  return commandsOfScripts.get(name) as readonly string[];
}

function findCommands(): Map<ScriptName, readonly string[]> {
  const known = new Set(SCRIPT_NAMES.flatMap((name) => matches(SCRIPTS[name].source, CALL)));
  const commandsIn = (source: string): readonly string[] => {
    const signals = /\bcall\(wake_command\b/.test(source) ? ['PUBLISH'] : [];
    return [...new Set([...matches(source, WORD).filter((word) => known.has(word)), ...signals])].toSorted();
  };
  return new Map(SCRIPT_NAMES.map((name) => [name, commandsIn(SCRIPTS[name].source)]));
}

export interface RightsOptions {
  /** Whether it is a Redis Cluster. */
  readonly cluster?: boolean;
}

/** Returns the Redis commands that a role needs, in alphabetical order; subcommands as `CONFIG|GET`. */
export function commandsOf(role: Role, { cluster = false }: RightsOptions = {}): string[] {
  const scripts = SCRIPT_NAMES.filter((name) => SCRIPTS[name].roles.includes(role));
  const commands = new Set([...PLAIN[role], ...scripts.flatMap(commandsOfScript)]);
  if (cluster) {
    const sharded = Object.keys(SHARDED).flatMap((command) => (commands.has(command) ? (SHARDED[command] ?? []) : []));
    for (const command of [...sharded, ...OF_CLUSTER]) commands.add(command);
  }
  return [...commands].toSorted();
}

export interface AclOptions extends RightsOptions {
  /** Name of the user. */
  readonly user: string;
  readonly prefix: string;
}

/** Returns the ACL rule that gives a Redis user just what a role needs, without a password. */
export function aclRule(role: Role, { user, prefix, ...options }: AclOptions): string {
  const commands = commandsOf(role, options).map((command) => `+${command.toLowerCase()}`);
  const names = `{${prefixInKeys(prefix)}:*`;
  return [`ACL SETUSER ${user} on resetkeys resetchannels ~${names} &${names} -@all`, ...commands].join(' ');
}

/**
 * Returns those of the refused commands that a role cannot do without.
 *
 * @param refused as the trial of all commands reports them, each with the error of Redis
 * @param role `undefined`: all roles
 */
export function neededOf(refused: readonly string[], role: Role | undefined): string[] {
  if (role === undefined || refused.length === 0) return [...refused];
  const needed = new Set(commandsOf(role, { cluster: true }));
  return refused.filter((text) => needed.has(commandOfRefusal(text)));
}

/** Returns the command that the trial of all commands reports as refused. */
export function commandOfRefusal(text: string): string {
  return text.slice(0, text.indexOf(':'));
}

function matches(source: string, pattern: RegExp): string[] {
  return Array.from(source.matchAll(pattern), ([, word = '']) => word);
}
