<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A message as it is stored. Durations are milliseconds. */
final class MessageDetails
{
    /**
     * @param \DateTimeImmutable $at scheduled: when it is due; in flight: when its lease ends; dead: when it died;
     *     finished: when it ended
     * @param string|null $outcome finished: what became of it
     * @param \DateTimeImmutable|null $dueAt finished: when it was due last
     * @param int|null $duration finished: how long the last call of its handler took
     * @param string|null $process finished: which process has handled it
     * @param array<string, string> $headers
     * @param list<string> $tags
     * @param int $attempts spent so far
     * @param \stdClass|null $failure why it is dead, or why the latest attempt failed: reason, name, message, and more
     * @param list<\stdClass> $history the latest attempts that failed, the last one first
     * @param string|null $blockedBy the message that it waits behind
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly MessageState $state,
        public readonly \DateTimeImmutable $at,
        public readonly ?string $outcome,
        public readonly ?\DateTimeImmutable $publishedAt,
        public readonly ?\DateTimeImmutable $dueAt,
        public readonly int|float|null $duration,
        public readonly ?string $process,
        public readonly mixed $payload,
        public readonly array $headers,
        public readonly array $tags,
        public readonly int $deliveries,
        public readonly int $attempts,
        public readonly ?int $maxAttempts,
        public readonly ?\stdClass $backoff,
        public readonly ?int $timeout,
        public readonly ?int $expireAfter,
        public readonly ?\stdClass $failure,
        public readonly array $history,
        public readonly ?string $blockedBy,
    ) {}
}
