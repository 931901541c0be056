<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A stored schedule. */
final class Schedule
{
    /**
     * @param string $id Id of the schedule.
     * @param string $topic Topic of its messages.
     * @param int $partition Partition of its messages in the topic.
     * @param string $key Key of its messages; the id if it was stored without one.
     * @param array<string, string> $headers Headers of its messages.
     * @param string $catchUp Occurrences that are published after an outage. One of 'all', 'latest' and 'none'.
     * @param string $overlap Whether an occurrence is published while an earlier one waits, runs or retries. One of
     *     'allow' and 'skip'.
     * @param bool $paused Whether it publishes nothing until it is resumed.
     * @param bool $declared Whether a handler of a Nest application declares it. Once no handler does, it can be
     *     pruned.
     * @param int $missed Number of occurrences that were not published, because of an outage or because an earlier
     *     one was not over. For a cron expression, one outage counts as at most 1,000.
     * @param mixed $payload Payload of its messages, read with the topic's serializer, if any. Null if it can't be
     *     read.
     * @param int|float|null $every Interval in milliseconds, if it has no cron expression.
     * @param string|null $cron Cron expression, if it has no interval.
     * @param string|null $timeZone Time zone of the expression.
     * @param \DateTimeImmutable|null $startAt No occurrence comes before this time.
     * @param \DateTimeImmutable|null $endAt No occurrence comes after this time.
     * @param \DateTimeImmutable|null $next Time of its next occurrence; null if it is paused or has ended.
     * @param \DateTimeImmutable|null $last Latest occurrence that was published; null before the first.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly array $headers,
        public readonly string $catchUp,
        public readonly string $overlap,
        public readonly bool $paused,
        public readonly bool $declared,
        public readonly int $missed,
        public readonly mixed $payload = null,
        public readonly int|float|null $every = null,
        public readonly ?string $cron = null,
        public readonly ?string $timeZone = null,
        public readonly ?\DateTimeImmutable $startAt = null,
        public readonly ?\DateTimeImmutable $endAt = null,
        public readonly ?\DateTimeImmutable $next = null,
        public readonly ?\DateTimeImmutable $last = null,
    ) {}
}
