import type { TopicTerms } from '../store/fleet/topic-config.js';
import type { TopicHandling } from '../store/fleet/topic-handling.js';
import { DEFAULT_BACKOFF } from '../messages/backoff.js';
import { DEFAULT_ATTEMPTS, type TopicSettings } from './topic-settings.interface.js';

// A process that handles a topic decides how, and what it leaves out has its default. One that only receives its messages decides just what it
// was configured with for this topic: all else is as the topic has it.

/** Returns the terms that a process stores that handles a topic. A backoff that is a function cannot be stored. */
export function termsOfHandler(settings: TopicSettings, { handling }: TopicTerms): TopicTerms {
  const { attempts, backoff, expireAfter, delivery, deadLetter, finished, serializer } = settings;
  const isOnce = delivery === 'at-most-once';
  const known: { readonly [K in keyof Required<TopicHandling>]: TopicHandling[K] } = {
    // A message delivered at most once has one attempt, since it is gone then.
    attempts: isOnce || attempts === DEFAULT_ATTEMPTS ? undefined : attempts,
    backoff: typeof backoff === 'function' || backoff === DEFAULT_BACKOFF ? undefined : backoff,
    expireAfter,
    delivery: isOnce ? delivery : undefined,
    deadLetter: deadLetter.maxAge === undefined && deadLetter.maxCount === undefined ? undefined : deadLetter,
    finished,
    serializer: serializer && true,
  };
  return { limits: settings.limits, handling: { ...handling, ...known } };
}

/** Returns the terms that a process stores that receives the messages of a topic. */
export function termsOfReceiver(own: TopicSettings, stored: TopicTerms): TopicTerms {
  const { limits, handling } = termsOfHandler(settingsBeside(own, stored), stored);
  const { backoff, serializer } = stored.handling ?? {};
  // It leaves the terms that it cannot decide as they are.
  return {
    limits,
    handling: {
      ...handling,
      backoff: typeof own.backoff === 'function' ? backoff : handling?.backoff,
      serializer: handling?.serializer ?? serializer,
    },
  };
}

/**
 * Returns the settings that count for a process that receives the messages of a topic.
 *
 * @param own the process's own settings
 * @param stored terms of the topic
 */
export function settingsBeside(own: TopicSettings, { limits, handling = {} }: TopicTerms): TopicSettings {
  const pick = <T>(option: string, told: T, known: T | undefined): T => (own.said.has(option) ? told : (known ?? told));
  const rate = pick('rateLimit', own.limits?.rate, limits?.rate);
  const inFlight = pick('maxInFlight', own.limits?.inFlight, limits?.inFlight);
  return {
    ...own,
    limits: rate || inFlight ? { rate, inFlight } : undefined,
    attempts: pick('attempts', own.attempts, handling.attempts),
    backoff: pick('backoff', own.backoff, handling.backoff),
    expireAfter: pick('expireAfter', own.expireAfter, handling.expireAfter),
    delivery: pick('delivery', own.delivery, handling.delivery),
    deadLetter: pick('deadLetter', own.deadLetter, handling.deadLetter),
    finished: pick('finished', own.finished, handling.finished),
  };
}
