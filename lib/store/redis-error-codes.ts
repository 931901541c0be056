import { isError } from '../checks/kinds.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';

/** Meaning of each Redis error code for an operator. */
const ADVICE: Readonly<Record<string, string>> = {
  OOM: 'Redis has reached its maxmemory and takes no writes',
  READONLY: 'this Redis is a read-only replica; connect to the primary',
  NOPERM: "the Redis user's ACL denies a command or key that is needed",
  NOAUTH: 'Redis asks for a password',
  WRONGPASS: 'Redis refused the user name or password',
  LOADING: 'Redis is still loading its data from disk',
  MISCONF: 'Redis cannot write its data to disk and takes no writes; give its disk room, or see its log',
  NOREPLICAS: 'fewer replicas follow this Redis than its setting min-replicas-to-write asks for, so it takes no writes',
  BUSY: 'Redis is busy with a script that runs for too long; SCRIPT KILL ends it',
  UNBLOCKED: 'this Redis has become a replica while a call waited',
  CLUSTERDOWN: 'the Redis cluster is down, or no node of it serves this slot',
  MASTERDOWN: 'the Redis primary is down',
  TRYAGAIN: 'the Redis cluster is moving a slot',
  ASK: 'the Redis cluster is moving a slot',
  MOVED: 'the Redis cluster has moved a slot to another node',
  OUTDATED: 'the call was delayed, and its caller has made others since',
  WRONGTYPE: 'a key of this module holds a value that it did not write',
};

/**
 * Error replies that can pass while a caller waits: a server that is starting, a failover that is under way, a disk or a memory
 * that is full until something is freed. All others stay until a setting is changed.
 */
const PASSING = new Set([
  'LOADING',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'TRYAGAIN',
  'ASK',
  'MOVED',
  'READONLY',
  'UNBLOCKED',
  'NOREPLICAS',
  'BUSY',
  'MISCONF',
  'OOM',
  'OUTDATED',
]);

/** Texts with which Redis denies the user something inside a script: 7.0 and 7.2, then from 7.4 on and Valkey. */
const DENIED_IN_SCRIPT = ['The user executing the script', 'ACL failure in script'];

/** Answer of a replica to WAIT, which has no code for that. */
const WAIT_ON_REPLICA = 'WAIT cannot be used with replica instances';

/** Whether the server answered with an error; everything else is a failed connection. */
export function isReply(error: unknown): error is Error {
  return isError(error) && error.name === 'ReplyError';
}

/**
 * Returns the error of this library for an error reply.
 *
 * @param text its meaning, in one line
 */
export function replyFailure(reply: Error, address: string, text = explained(reply.message)): BrokerUnavailableError {
  return new BrokerUnavailableError(`Redis at ${address} failed: ${text}`, {
    cause: reply,
    transient: isStateRefusal(reply.message),
    refused: isRefusal(reply.message),
    full: codeOf(reply.message) === 'OOM',
  });
}

/** Returns the text of an error, behind its meaning if that is known. */
export function explained(text: string): string {
  const advice = ADVICE[codeOf(text)];
  return advice ? `${advice} (${text})` : text;
}

/** Whether Redis takes no writes since it has reached its maxmemory; scripts with the flag allow-oom can still write. */
export function isFull(error: unknown): boolean {
  return error instanceof BrokerUnavailableError && error.full;
}

/**
 * Whether a script failed for its arguments or for what it has met. All other error replies, such as OOM or NOPERM, are about
 * the state of the server: any other call would get the same answer.
 */
function isRefusal(text: string): boolean {
  if (text.startsWith('REFUSED ') || isWrongType(text)) return true;
  // Redis 7 begins with the code; Redis 6 puts it behind the place in the script, with a dash before it.
  const [, own = ''] = /^([A-Z]+) /.exec(text) ?? [];
  const [, inScript] = /user_script: ?\d+: -([A-Z]+) /.exec(text) ?? [];
  return text.includes('user_script') && (inScript ?? own) === 'ERR' && codeOf(text) === '' && !SYSTEMATIC.test(text);
}

/** Errors for any call of a script that the server cannot run, whatever the call carries. */
const SYSTEMATIC =
  /ACL failure|not allowed|[Uu]nknown (?:Redis )?command|undeclared key|same slot|non[- ]local key|SCRIPT KILL|compiling script/;

/** Whether a key holds another type of value than this module writes. */
export function isWrongType(text: string): boolean {
  return /\bWRONGTYPE\b/.test(text);
}

/** Whether the server denied its user something. */
export function isDenial(text: string): boolean {
  return codeOf(text) === 'NOPERM';
}

/** Whether the server refused a call because of its own state, and not because of the call or its user. */
export function isStateRefusal(text: string): boolean {
  return PASSING.has(codeOf(text));
}

/** Returns the code of an error, if it is known. Inside a script Redis words it differently, or puts the code somewhere into a longer text. */
export function codeOf(text: string): string {
  if (text.includes(WAIT_ON_REPLICA)) return 'READONLY';
  if (DENIED_IN_SCRIPT.some((words) => text.includes(words))) return 'NOPERM';
  return Object.keys(ADVICE).find((code) => new RegExp(`\\b${code}\\b`).test(text)) ?? '';
}
