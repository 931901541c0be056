/** Longest name of a topic and longest prefix, in characters. */
export const MAX_NAME_LENGTH = 128;

/** Longest id and longest key, in characters. */
export const MAX_ID_LENGTH = 256;

/** Most tags of a message. */
export const MAX_TAGS = 8;

/** Longest tag, in characters. */
export const MAX_TAG_LENGTH = 128;

/** Largest payload with its headers, encoded, in bytes. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Longest delay, in milliseconds: 10 years of 365.25 days. */
export const MAX_DELAY = 10 * 365.25 * 24 * 60 * 60 * 1000;

/** Most partitions a topic can have. */
export const MAX_PARTITIONS = 1024;

/** Most replicas that can be asked to confirm a publish. */
export const MAX_REPLICAS = 100;

/** Most attempts a message can be given. */
export const MAX_ATTEMPTS = 1000;

/** Shortest lease, in milliseconds: below a second, a garbage collection could end one. */
export const MIN_LEASE = 1000;

/** Longest name of a receiver, in characters. */
export const MAX_CONSUMER_LENGTH = 128;
