import { isError } from '../../../checks/kinds.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import { DelayQueueError } from '../../../errors/delay-queue.error.js';

/** What a Redis error code means for the one who operates it. */
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
 * that is full until something is freed. All else stays as it is until somebody changes a setting.
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

/** How Redis says inside a script that the user may not do something: 7.0 and 7.2, then from 7.4 on and Valkey. */
const DENIED_IN_SCRIPT = ['The user executing the script', 'ACL failure in script'];

/** How a replica answers WAIT; it has no code for that. */
const WAIT_ON_REPLICA = 'WAIT cannot be used with replica instances';

/** What an error of ioredis may have beside its message. */
interface DetailedError extends Error {
  command?: { readonly name: string; readonly args?: readonly unknown[] };
  /** What Node.js could not read as a URL. */
  input?: unknown;
  /** Why the last node of a cluster that was asked did not answer. */
  readonly lastNodeError?: unknown;
}

/** Turns whatever a Redis call rejected with into an error of this library, with the original as its cause. */
export function toBrokerError(error: unknown, address: string): DelayQueueError {
  if (error instanceof DelayQueueError) return error;
  const cause = withoutSecrets(error);
  const text = textOf(cause);
  const transient = !isReply(cause) || PASSING.has(codeOf(text));
  const refused = isReply(cause) && isRefusal(cause.message);
  const full = isReply(cause) && codeOf(cause.message) === 'OOM';
  return new BrokerUnavailableError(`Redis at ${address} failed: ${text}`, { cause, transient, refused, full });
}

/** What an error means, in one line. */
export function textOf(error: unknown): string {
  if (isConnectionLoss(error)) return 'the connection was lost';
  const text = isError(error) ? error.message || error.name : String(error);
  const advice = isRefusedDatabase(error) ? databaseAdvice(error, text) : ADVICE[codeOf(text)];
  return advice ? `${advice} (${text})` : text;
}

/**
 * Takes out of an error of ioredis, and out of those behind it, what may hold a password: the arguments of a command (AUTH
 * and HELLO have it there), which some servers repeat in their text, and what was not readable as a URL. In place, so that the cause of
 * an error stays the error that ioredis made, with its class, code and stack.
 */
export function withoutSecrets<T>(error: T, seen = new Set<unknown>()): T {
  if (!isError(error) || seen.has(error)) return error;
  seen.add(error);
  const detailed = error as DetailedError;
  if (detailed.command && !isRefusedDatabase(error)) detailed.command = { name: detailed.command.name };
  delete detailed.input;
  const message = withoutArguments(error.message);
  if (message !== error.message) {
    const stack = error.stack?.replace(error.message, () => message);
    error.message = message;
    if (stack !== undefined) error.stack = stack;
  }
  for (const inner of [error.cause, detailed.lastNodeError]) withoutSecrets(inner, seen);
  return error;
}

/** A server that does not know a command repeats how its arguments begin; Node.js shows an argument of a wrong type. */
function withoutArguments(text: string): string {
  return text.replace(/, with args beginning with: .*/s, '').replace(/\. Received (type|an instance) .*/s, '.');
}

/**
 * The error behind one of ioredis that only says that it has tried everything. It remains 'Connection is closed.' if that is all
 * ioredis knows, which loses what its connection to a Sentinel or a node failed with.
 */
export function rootOf(error: Error): Error {
  const { lastNodeError } = error as DetailedError;
  if (isError(lastNodeError)) return lastNodeError;
  if (!isOfAllSentinels(error)) return error;
  const [, last] = / Last error: (.*)$/s.exec(error.message) ?? [];
  return new Error(last ?? 'the Sentinels answer, and none of them knows a primary of that name', { cause: error });
}

/** Whether ioredis says that it has asked all Sentinels in vain. */
export function isOfAllSentinels(error: Error): boolean {
  return error.message.startsWith('All sentinels are unreachable');
}

/**
 * Whether a script failed for its arguments or for what it has met. All else that an error reply can say, such as OOM or
 * NOPERM, is about the state of the server: any other call would be answered the same.
 */
function isRefusal(text: string): boolean {
  if (text.startsWith('REFUSED ') || isWrongType(text)) return true;
  // Redis 7 begins with the code; Redis 6 puts it behind the place in the script, with a dash before it.
  const [, own = ''] = /^([A-Z]+) /.exec(text) ?? [];
  const [, inScript] = /user_script: ?\d+: -([A-Z]+) /.exec(text) ?? [];
  return text.includes('user_script') && (inScript ?? own) === 'ERR' && codeOf(text) === '' && !SYSTEMATIC.test(text);
}

/** What a server says of any call of a script that it cannot run, whatever the call carries. */
const SYSTEMATIC =
  /ACL failure|not allowed|[Uu]nknown (?:Redis )?command|undeclared key|same slot|non[- ]local key|SCRIPT KILL|compiling script/;

/** Whether a key holds another type of value than this module writes. */
export function isWrongType(text: string): boolean {
  return /\bWRONGTYPE\b/.test(text);
}

/** Whether Redis takes no writes since it has reached its maxmemory; scripts with the flag allow-oom can still write. */
export function isFull(error: unknown): boolean {
  return isError(error) && codeOf(error.message) === 'OOM';
}

/** Whether the server said that its user may not do something. */
export function isDenial(text: string): boolean {
  return codeOf(text) === 'NOPERM';
}

/** Whether the server refused a call for the state that it is in, and not for what was called or by whom. */
export function isStateRefusal(text: string): boolean {
  return PASSING.has(codeOf(text));
}

/** Inside a script Redis says it in other words, or puts the code somewhere into a longer text. */
function codeOf(text: string): string {
  if (text.includes(WAIT_ON_REPLICA)) return 'READONLY';
  if (DENIED_IN_SCRIPT.some((words) => text.includes(words))) return 'NOPERM';
  return Object.keys(ADVICE).find((code) => new RegExp(`\\b${code}\\b`).test(text)) ?? '';
}

/** Whether the server answered with an error; everything else is a failed connection. */
export function isReply(error: unknown): error is Error {
  return isError(error) && error.name === 'ReplyError';
}

/** Codes of connections that were ended, which does not say why. */
const VAGUE = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Whether an error says what it comes from. */
export function isTelling(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return isReply(error) || (code !== undefined && !VAGUE.has(code));
}

/** Whether the server does not let a connection have the database that it was made for. One that wants a password says so itself. */
export function isRefusedDatabase(error: unknown): error is DetailedError {
  return isReply(error) && (error as DetailedError).command?.name === 'select' && codeOf(String(error)) !== 'NOAUTH';
}

function databaseAdvice({ command }: DetailedError, text: string): string {
  const database = String(command?.args?.[0]);
  if (text.includes('cluster mode')) {
    return `database ${database} was asked for, and a node of a Redis Cluster has database 0 only; leave the database out`;
  }
  if (codeOf(text) === 'NOPERM') {
    return (
      `database ${database} was asked for, and the Redis user may not select one; allow it (ACL SETUSER <user> +select), ` +
      `or use database 0`
    );
  }
  return (
    `there is no database ${database}; Redis has those from 0 to one less than its setting 'databases', which is 16 unless it ` +
    `was changed. Ask for one of them, or raise the setting`
  );
}

/** Whether ioredis gave a command up because its connection ended; its own text speaks of options that are ours. */
export function isConnectionLoss(error: unknown): boolean {
  if (!isError(error)) return false;
  // ioredis 5 puts this before what its ready check failed with.
  const text = error.message.replace(/^Ready check failed: /, '');
  return (
    error.name === 'MaxRetriesPerRequestError' ||
    text === CONNECTION_CLOSED ||
    text.startsWith(PIPELINE_CUT) ||
    text.startsWith(MAX_RETRIES) ||
    NODE_AWAY.test(text)
  );
}

export const CONNECTION_CLOSED = 'Connection is closed.';
const PIPELINE_CUT = 'Command aborted due to connection close';
const MAX_RETRIES = 'Reached the max retries per request limit';
/** How a cluster's client gives up: the node that holds a key is away, or others lead to it in vain. */
const NODE_AWAY = /^Too many Cluster redirections\. Last error: \w+: (Connection is closed\.|MOVED )/;

/**
 * Whether the server says that it is a replica: it refuses a command, or what a script writes, or it became one while a read
 * waited.
 */
export function isOfReplica(error: Error): boolean {
  return ['READONLY', 'UNBLOCKED'].includes(codeOf(error.message));
}

/** Whether the node that answered is not the one, or soon not the one, that takes writes of the slot. */
export function isMoved(error: unknown): boolean {
  return isReply(error) && ['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN'].includes(codeOf(error.message));
}

export function isNoScript(error: unknown): boolean {
  return isError(error) && error.message.startsWith('NOSCRIPT');
}
