import { didYouMean } from './nearest.js';

/** What other queues call what is an option here under another name. */
const OTHER_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['connection', ['redis']],
  ['url', ['redis']],
  ['queues', ['topics']],
  ['jobId', ['id']],
  ['messageId', ['id']],
  ['group', ['key']],
  ['data', ['payload']],
  ['retries', ['attempts']],
  ['maxAttempts', ['attempts']],
  ['maxRetries', ['attempts']],
  ['duration', ['per', 'timeout']],
  ['ttl', ['expireAfter']],
  ['ttr', ['lease']],
  ['visibilityTimeout', ['lease']],
  ['lockDuration', ['lease']],
  ['removeOnComplete', ['finished']],
  ['removeOnFail', ['deadLetter']],
  ['deduplication', ['onDuplicate']],
  ['runAt', ['deliverAt']],
  ['pattern', ['cron']],
  ['tz', ['timeZone']],
]);

/** To be appended to the sentence that says that there is no such option: the one that was probably meant, if there is one. */
export function meantOption(given: string, known: readonly string[]): string {
  if (given === 'priority')
    return ' Messages have no priority: give a handler several topics, the most urgent one first.';
  const same = OTHER_WORDS.get(given)?.find((word) => known.includes(word));
  return same === undefined ? didYouMean(given, known) : ` Here it is '${same}'.`;
}
