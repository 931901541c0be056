import { BrokerUnavailableError } from '../../errors/broker-unavailable.error.js';

/** What a Redis error code means for the one who operates it. */
const ADVICE: Readonly<Record<string, string>> = {
  OOM: 'Redis has reached its maxmemory and takes no writes',
  READONLY: 'this Redis is a read-only replica; connect to the primary',
  NOPERM: "the Redis user's ACL denies a command or key that is needed",
  NOAUTH: 'Redis asks for a password',
  WRONGPASS: 'Redis refused the user name or password',
  LOADING: 'Redis is still loading its data from disk',
  MISCONF: 'Redis cannot write its data to disk and takes no writes',
  CLUSTERDOWN: 'the Redis cluster is down',
  MASTERDOWN: 'the Redis primary is down',
  TRYAGAIN: 'the Redis cluster is moving a slot',
  WRONGTYPE: 'a key of this module holds a value that it did not write',
};

/** Error replies that pass by themselves: a server that is starting, or a failover that is under way. */
const PASSING = new Set(['LOADING', 'CLUSTERDOWN', 'MASTERDOWN', 'TRYAGAIN', 'READONLY']);

/** Turns whatever a Redis call rejected with into an error of this library, with the original as its cause. */
export function toBrokerError(error: unknown, address: string): BrokerUnavailableError {
  if (error instanceof BrokerUnavailableError) return error;
  const text = isConnectionLoss(error)
    ? 'the connection was lost'
    : error instanceof Error
      ? error.message
      : String(error);
  const code = codeOf(text);
  const advice = ADVICE[code];
  const message = advice ? `${advice} (${text})` : text;
  const transient = !isReply(error) || PASSING.has(code);
  const refused = isReply(error) && isRefusal(text);
  return new BrokerUnavailableError(`Redis at ${address} failed: ${message}`, { cause: error, transient, refused });
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
const SYSTEMATIC = /ACL failure|not allowed|[Uu]nknown (?:Redis )?command|undeclared key|same slot|non[- ]local key/;

/** Whether a key holds another type of value than this module writes. */
export function isWrongType(text: string): boolean {
  return /\bWRONGTYPE\b/.test(text);
}

/** Inside a script Redis says it in other words, or puts the code somewhere into a longer text. */
function codeOf(text: string): string {
  if (text.includes('The user executing the script')) return 'NOPERM';
  return Object.keys(ADVICE).find((code) => new RegExp(`\\b${code}\\b`).test(text)) ?? '';
}

/** Whether the server answered with an error; everything else is a failed connection. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Whether ioredis gave a command up because its connection ended; its own text speaks of options that are ours. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && (error.name === 'MaxRetriesPerRequestError' || error.message === CONNECTION_CLOSED);
}

const CONNECTION_CLOSED = 'Connection is closed.';

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
