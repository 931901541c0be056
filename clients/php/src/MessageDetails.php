<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A message as it is stored. */
final class MessageDetails
{
    /**
     * @param string $id Id of the message.
     * @param string $topic Topic to which it was published.
     * @param int $partition Its partition in the topic.
     * @param string $key Its key; the id, if it was published without one.
     * @param array<string, string> $headers Headers as they were published.
     * @param MessageState $state Its state. 'finished': it has ended, and the topic's option `finished` keeps its
     *     outcome.
     * @param \DateTimeImmutable $at Scheduled: when it is due. In flight: when its lease ends. Dead: when it died.
     *     Finished: when it ended.
     * @param list<string> $tags Tags by which it can be found. Finished messages can no longer be found by their
     *     tags.
     * @param int $deliveries Deliveries so far.
     * @param int $attempts Attempts spent so far.
     * @param list<\stdClass> $history The latest failed attempts, the last one first; at most 10. An attempt that
     *     crashed has no entry.
     * @param mixed $payload The published payload; null if it cannot be decoded.
     * @param \stdClass|null $backoff Wait after a failed attempt, if it was published with the option; times are
     *     milliseconds.
     * @param int|null $maxAttempts Most attempts, if it was published with the option; otherwise its handler or its
     *     topic decides.
     * @param \DateTimeImmutable|null $publishedAt When it was published, by its publisher's estimate of the Redis
     *     server's clock; null if the stored message cannot be decoded.
     * @param \DateTimeImmutable|null $dueAt In flight or finished: when it was last due. Its handler did not begin
     *     earlier. Null if that is unknown.
     * @param string|null $outcome Finished: its outcome. One of 'acked', 'cancelled' and 'delivered'.
     * @param int|float|null $duration Finished: duration of the last handler call, in milliseconds; null if it was
     *     never called, or that is unknown.
     * @param string|null $process Finished: name of the process that handled it; null if none did, or that is
     *     unknown.
     * @param int|float|null $timeout The longest run of its handler in milliseconds, if it was published with the
     *     option.
     * @param int|float|null $expireAfter How long after its due time it expires, in milliseconds, if it was
     *     published with the option.
     * @param \stdClass|null $failure Why it is dead, or why its latest failed attempt failed.
     * @param string|null $blockedBy In an ordered topic, the id of the message of the same key that has to be done
     *     before this one; null if nothing is in the way, and in lists.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly array $headers,
        public readonly MessageState $state,
        public readonly \DateTimeImmutable $at,
        public readonly array $tags,
        public readonly int $deliveries,
        public readonly int $attempts,
        public readonly array $history,
        public readonly mixed $payload = null,
        public readonly ?\stdClass $backoff = null,
        public readonly ?int $maxAttempts = null,
        public readonly ?\DateTimeImmutable $publishedAt = null,
        public readonly ?\DateTimeImmutable $dueAt = null,
        public readonly ?string $outcome = null,
        public readonly int|float|null $duration = null,
        public readonly ?string $process = null,
        public readonly int|float|null $timeout = null,
        public readonly int|float|null $expireAfter = null,
        public readonly ?\stdClass $failure = null,
        public readonly ?string $blockedBy = null,
    ) {}
}
