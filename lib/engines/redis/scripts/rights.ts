import { prefixInKeys } from '../../../store/keys.js';
import { ROLES, type Role, type ScriptName } from '../../../store/lua/lua-script.js';
import { SCRIPTS } from '../../../store/lua/script-sources.js';
import { SCRIPT_NAMES } from './scripts.js';

export { ROLES, type Role };

/** What every role needs beside scripts. With DEL scripts begin on a Redis that knows no script flags. */
const COMMON = ['DEL', 'EVAL', 'EVALSHA', 'HGET', 'HGETALL', 'HMGET', 'INFO', 'TIME', 'ZRANGEBYLEX'];

/** Subscribing, the question whether its node answers, and the events of the fleet. */
const LISTENING = ['PTTL', 'SUBSCRIBE', 'UNSUBSCRIBE', 'XREAD', 'XREVRANGE'];

/** Where schedules are, and what is known of them. */
const SCHEDULES = ['HSCAN', 'ZMSCORE'];

/** What is sent beside scripts: the search for an id, sessions and topics, signals, and what a connection asks at its start. */
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

/** What ioredis asks a Cluster. */
const OF_CLUSTER = ['ASKING', 'CLUSTER|INFO', 'CLUSTER|SLOTS'];

/** How scripts name the commands they call, and the trial of all of them. */
const CALL = /\b(?:p?call|try)\('([A-Z]+)'/g;

/** A command that a script may call in another way than by its name at that place. */
const WORD = /'([A-Z]+)'/g;

/** Found once: that takes long, and is asked before each call of a process whose user may not do everything. */
let commandsOfScripts: ReadonlyMap<ScriptName, readonly string[]> | undefined;

/** The Redis commands that a script calls; for signals, that of a server without shards. */
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

/** The Redis commands that a role needs, in the order of the alphabet; of a command with parts as `CONFIG|GET`. */
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

/** What gives a user of Redis all that a role needs and nothing else, but for a password. */
export function aclRule(role: Role, { user, prefix, ...options }: AclOptions): string {
  const commands = commandsOf(role, options).map((command) => `+${command.toLowerCase()}`);
  const names = `{${prefixInKeys(prefix)}:*`;
  return [`ACL SETUSER ${user} on resetkeys resetchannels ~${names} &${names} -@all`, ...commands].join(' ');
}

/**
 * Of the commands that Redis refuses those that a role cannot do without.
 *
 * @param refused as the trial of all commands reports them, each with what Redis said
 * @param role `undefined`: all of them
 */
export function neededOf(refused: readonly string[], role: Role | undefined): string[] {
  if (role === undefined || refused.length === 0) return [...refused];
  const needed = new Set(commandsOf(role, { cluster: true }));
  return refused.filter((text) => needed.has(commandOfRefusal(text)));
}

/** The command that the trial of all commands reports as refused. */
export function commandOfRefusal(text: string): string {
  return text.slice(0, text.indexOf(':'));
}

function matches(source: string, pattern: RegExp): string[] {
  return Array.from(source.matchAll(pattern), ([, word = '']) => word);
}
