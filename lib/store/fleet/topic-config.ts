import { MAX_PARTITIONS } from '../../checks/limits.js';
import type { TopicLimits } from '../deliveries/limits.js';
import { type TopicHandling, decodeHandling, encodeHandling } from './topic-handling.js';

/** Version of the layout of keys and records; stored with each topic and compared at boot. */
export const PROTOCOL_VERSION = 3;

/** Version that this one speaks too, so that processes of both can work side by side. */
export const PROTOCOL_BEFORE = 2;

/** The versions that this one speaks, for messages. */
export const SPOKEN = `${PROTOCOL_BEFORE} and ${PROTOCOL_VERSION}`;

export function isSpoken(protocol: number): boolean {
  return protocol === PROTOCOL_BEFORE || protocol === PROTOCOL_VERSION;
}

export interface TopicConfig {
  readonly partitions: number;
  readonly protocol: number;
  /** `undefined`: the topic has no order. */
  readonly order?: TopicOrder | undefined;
  /** `undefined`: none. */
  readonly limits?: TopicLimits | undefined;
  /** `undefined`: by the defaults. */
  readonly handling?: TopicHandling | undefined;
}

/** Changeable part of the config of a topic. */
export type TopicTerms = Pick<TopicConfig, 'limits' | 'handling'>;

/** Effect of a dead letter on its key in an ordered topic: the messages behind it go on, or wait until it is requeued or removed. */
export type TopicOrder = 'continue' | 'block';

// A later version may have put words behind those that this one knows. Text that cannot be read at all counts as missing: another program
// may have written it.

/** Highest version of the protocol that a config can have; a higher number is damage. */
export const MAX_PROTOCOL = 1_000_000;

/** Stands in the second copy for a word that a topic does not have, before words that it has. */
const NONE = '-';

/** Encodes the second copy of a topic's config. */
export function encodeTopicConfig({ partitions, protocol, order, limits, handling }: TopicConfig): string {
  const words = [partitions, protocol, order, encodeLimits(limits), encodeHandling(handling)];
  return words
    .slice(0, words.findLastIndex((word) => word) + 1)
    .map((word) => word || NONE)
    .join(' ');
}

export function decodeTopicConfig(text: string | null): TopicConfig | undefined {
  return topicConfigOf((text?.split(' ') ?? []).map((word) => (word === NONE ? '' : word)));
}

/** Reads a topic's config from the texts of its fields. */
export function topicConfigOf(fields: readonly unknown[]): TopicConfig | undefined {
  const [partitions, protocol, order = '', ...terms] = fields;
  if (!isNumber(partitions, MAX_PARTITIONS) || !isNumber(protocol, MAX_PROTOCOL)) return undefined;
  const [limits, handling] = [decodeLimits(terms[0]), decodeHandling(terms[1])];
  const numbers = { partitions: Number(partitions), protocol: Number(protocol) };
  const config = { ...numbers, ...(limits && { limits }), ...(handling && { handling }) };
  if (order === 'continue' || order === 'block') return { ...config, order };
  return order === '' || order === null ? config : undefined;
}

/** Encodes limits, such as `rate=50/1000,flight=10`, with `keyrate` and `keyflight` for the limits of each key; empty for no limits. */
export function encodeLimits(limits: TopicLimits | undefined): string {
  const { rate, inFlight } = limits ?? {};
  const parts = [
    rate && `${rate.by === 'key' ? 'key' : ''}rate=${rate.max}/${rate.per}`,
    inFlight?.topic !== undefined && `flight=${inFlight.topic}`,
    inFlight?.key !== undefined && `keyflight=${inFlight.key}`,
  ];
  return parts.filter((part) => part).join(',');
}

/** Each can be followed by limits of a later version. */
const RATE = /(?:^|,)(?<by>key)?rate=(?<max>\d{1,15})\/(?<per>\d{1,15})(?:,|$)/;

const IN_FLIGHT = /(?:^|,)flight=(?<topic>\d{1,15})(?:,|$)/;

const IN_FLIGHT_BY_KEY = /(?:^|,)keyflight=(?<key>\d{1,15})(?:,|$)/;

/** Reads limits. Unreadable text counts as no limits; a process that has some configured stores them again at its next boot. */
export function decodeLimits(text: unknown): TopicLimits | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const { by, max, per } = RATE.exec(text)?.groups ?? {};
  const { topic } = IN_FLIGHT.exec(text)?.groups ?? {};
  const { key } = IN_FLIGHT_BY_KEY.exec(text)?.groups ?? {};
  const rate =
    Number(max) > 0 && Number(per) > 0 ? { max: Number(max), per: Number(per), by: by ?? 'topic' } : undefined;
  const inFlight = { topic: countOf(topic), key: countOf(key) };
  const isInFlight = inFlight.topic !== undefined || inFlight.key !== undefined;
  if (!rate && !isInFlight) return undefined;
  return { rate: rate as TopicLimits['rate'], inFlight: isInFlight ? inFlight : undefined };
}

function countOf(text: string | undefined): number | undefined {
  return Number(text) > 0 ? Number(text) : undefined;
}

/** Whether a text is a number for `lua/configure.lua`. */
function isNumber(text: unknown, most: number): text is string {
  return typeof text === 'string' && /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most;
}
