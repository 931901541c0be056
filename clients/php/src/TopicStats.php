<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What a topic holds, in sum and by partition. */
final class TopicStats
{
    /**
     * @param int $scheduled messages that wait; those that are due, or blocked, are among them
     * @param int $due messages whose time has come and that nobody has yet
     * @param int $blocked messages that wait behind others of their key, or for its limits
     * @param int $finished messages that have ended and are kept
     * @param bool $paused whether any partition is
     * @param \DateTimeImmutable|null $heldUntil until when the topic gives nothing
     * @param array<string, int> $counters what has happened since the topic was first used: published, delivered,
     *     acked, retried, …
     * @param list<\stdClass> $partitions the same counts for each, its number, and its owner
     * @param list<int> $unreachable partitions that did not answer, which no count includes
     * @param int|null $blockedDue of those that are blocked, the ones whose time has come; null, as $retrying: a gateway
     *     of version 0.1 does not tell it
     * @param int|null $retrying messages that have failed and are tried again
     */
    public function __construct(
        public readonly string $topic,
        public readonly int $scheduled,
        public readonly int $due,
        public readonly int $blocked,
        public readonly int $inFlight,
        public readonly int $dead,
        public readonly int $finished,
        public readonly ?\DateTimeImmutable $nextDueAt,
        public readonly ?\DateTimeImmutable $oldestDueAt,
        public readonly bool $paused,
        public readonly ?\DateTimeImmutable $heldUntil,
        public readonly array $counters,
        public readonly array $partitions,
        public readonly array $unreachable,
        public readonly ?int $blockedDue = null,
        public readonly ?int $retrying = null,
        public readonly ?\DateTimeImmutable $oldestBlockedDueAt = null,
    ) {}
}
