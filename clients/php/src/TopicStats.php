<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/** What a topic holds, in sum and by partition. */
final class TopicStats
{
    /**
     * @param int $scheduled messages that wait; those that are due, or blocked, are among them
     * @param int $due messages whose time has come and that nobody has yet
     * @param int $blocked messages that wait behind others of their key, or for its limits
     * @param int $finished messages that have ended and are kept
     * @param bool $paused whether any partition is
     * @param array<string, int> $counters what has happened since the topic was first used: published, delivered,
     *     acked, retried, …
     * @param list<\stdClass> $partitions the same counts for each, its number, and its owner
     */
    private function __construct(
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
        public readonly array $counters,
        public readonly array $partitions,
    ) {
    }

    /** @internal */
    public static function from(Fields $fields): self
    {
        return new self(
            $fields->string('topic'),
            $fields->int('scheduled'),
            $fields->int('due'),
            $fields->int('blocked'),
            $fields->int('inFlight'),
            $fields->int('dead'),
            $fields->int('finished'),
            $fields->optionalTime('nextDueAt'),
            $fields->optionalTime('oldestDueAt'),
            $fields->bool('paused'),
            $fields->map('counters'),
            $fields->list('partitions'),
        );
    }
}
