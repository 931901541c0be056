import { isError } from '../../../checks/kinds.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import { DelayQueueError } from '../../../errors/delay-queue.error.js';
import { codeOf, explained, isReply, replyFailure } from '../../../store/redis-error-codes.js';

/** A server did not answer a question, or not to this user. The message says which one, and why. */
export class NotTold extends Error {
  /** Whether the server refused to answer, rather than that no answer came. */
  readonly refused: boolean;

  constructor(message: string, { refused, cause }: { refused: boolean; cause?: unknown }) {
    super(message, { cause });
    this.refused = refused;
  }
}

/** Members of ioredis errors beside the message. */
interface DetailedError extends Error {
  command?: { readonly name: string; readonly args?: readonly unknown[] };
  /** Text that Node.js could not read as a URL. */
  input?: unknown;
  /** Reason why the last node of a cluster that was asked did not answer. */
  readonly lastNodeError?: unknown;
}

/** Turns the rejection of a Redis call into an error of this library, with the original as its cause. */
export function toBrokerError(error: unknown, address: string): DelayQueueError {
  if (error instanceof DelayQueueError) return error;
  const cause = withoutSecrets(error);
  if (isReply(cause)) return replyFailure(cause, address, textOf(cause));
  return new BrokerUnavailableError(`Redis at ${address} failed: ${textOf(cause)}`, { cause, transient: true });
}

/** Returns the meaning of an error, in one line. */
export function textOf(error: unknown): string {
  if (isConnectionLoss(error)) return 'the connection was lost';
  const text = isError(error) ? error.message || error.name : String(error);
  return isRefusedDatabase(error) ? `${databaseAdvice(error, text)} (${text})` : explained(text);
}

/**
 * Takes out of an error of ioredis, and out of those behind it, what may hold a password: the arguments of a command (AUTH
 * and HELLO have it there), which some servers repeat in their text, and text that was not readable as a URL. In place, so that the cause of
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

/** Leaves arguments out: a server that does not know a command repeats how they begin; Node.js shows one of a wrong type. */
function withoutArguments(text: string): string {
  return text.replace(/, with args beginning with: .*/s, '').replace(/\. Received (type|an instance) .*/s, '.');
}

/**
 * Returns the error behind one of ioredis that only says that it has tried everything. It remains 'Connection is closed.' if that is all
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

/** Codes of connections that were ended, without a reason. */
const VAGUE = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Whether an error says its cause. */
export function isTelling(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return isReply(error) || (code !== undefined && !VAGUE.has(code));
}

/** Whether the server refuses a connection the database that it was made for. One that wants a password says so itself. */
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
  // ioredis 5 puts this before the error of its ready check.
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
/** Error with which a cluster's client gives up: the node that holds a key is away, or others lead to it in vain. */
const NODE_AWAY = /^Too many Cluster redirections\. Last error: \w+: (Connection is closed\.|MOVED )/;

/**
 * Whether the server says that it is a replica: it refuses a command, or what a script writes, or it became one while a read
 * waited.
 */
export function isOfReplica(error: Error): boolean {
  return ['READONLY', 'UNBLOCKED'].includes(codeOf(error.message));
}

/** Whether the node that answered does not, or soon will not, take writes of the slot. */
export function isMoved(error: unknown): boolean {
  return isReply(error) && ['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN'].includes(codeOf(error.message));
}

export function isNoScript(error: unknown): boolean {
  return isError(error) && error.message.startsWith('NOSCRIPT');
}
