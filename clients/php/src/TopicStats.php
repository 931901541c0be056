<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Counts of a topic, in total and by partition. */
final class TopicStats
{
    /**
     * @param string $topic The topic that is counted.
     * @param list<\stdClass> $partitions Partitions that answered, ascending.
     * @param list<int> $unreachable Partitions that did not answer in time, because their shard of a Redis Cluster
     *     is down. No count includes their messages. Empty if the counts are complete.
     * @param int $scheduled Waiting messages, including those that are due or blocked.
     * @param int $due Messages whose time has come and that no process has claimed yet.
     * @param int $blocked Messages that wait behind others of their key, or for its limits.
     * @param int $inFlight Messages that are being handled.
     * @param int $dead Dead letters.
     * @param int $finished Messages that have ended and are kept.
     * @param bool $paused Whether nothing is handed out until someone resumes it; for a topic, whether any of its
     *     partitions is paused.
     * @param array<string, int> $counters Counters of events since the topic was first used.
     * @param int|null $blockedDue Blocked messages whose time has come. They are late like those that are `due`,
     *     and start once others of their key end. Null if the gateway is of version 0.1.
     * @param int|null $retrying Messages whose last attempt failed and that are tried again: they wait, or are in
     *     flight. Null if the gateway is of version 0.1.
     * @param \DateTimeImmutable|null $nextDueAt The earliest due time; null if nothing waits that could be
     *     delivered then.
     * @param \DateTimeImmutable|null $oldestDueAt The earliest due time among those that are due; null if none is.
     *     Its age shows how late handling is.
     * @param \DateTimeImmutable|null $oldestBlockedDueAt The earliest due time among those that are due and
     *     blocked; null if none is.
     * @param \DateTimeImmutable|null $heldUntil Time until which nothing is handed out, because someone holds the
     *     topic or a handler has met a rate limit; null if neither. For a topic, that of the partition that is held
     *     longest.
     */
    public function __construct(
        public readonly string $topic,
        public readonly array $partitions,
        public readonly array $unreachable,
        public readonly int $scheduled,
        public readonly int $due,
        public readonly int $blocked,
        public readonly int $inFlight,
        public readonly int $dead,
        public readonly int $finished,
        public readonly bool $paused,
        public readonly array $counters,
        public readonly ?int $blockedDue = null,
        public readonly ?int $retrying = null,
        public readonly ?\DateTimeImmutable $nextDueAt = null,
        public readonly ?\DateTimeImmutable $oldestDueAt = null,
        public readonly ?\DateTimeImmutable $oldestBlockedDueAt = null,
        public readonly ?\DateTimeImmutable $heldUntil = null,
    ) {}
}
