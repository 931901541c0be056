<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A schedule as it is stored. */
final class Schedule
{
    /**
     * @param array<string, string> $headers
     * @param int|null $every milliseconds
     * @param bool $declared whether a handler of a Nest application declares it
     * @param \DateTimeImmutable|null $next null if it is paused, or has ended
     * @param \DateTimeImmutable|null $last its latest occurrence; null before the first
     * @param int $missed occurrences that were not published
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly mixed $payload,
        public readonly array $headers,
        public readonly ?int $every,
        public readonly ?string $cron,
        public readonly ?string $timeZone,
        public readonly ?\DateTimeImmutable $startAt,
        public readonly ?\DateTimeImmutable $endAt,
        public readonly string $catchUp,
        public readonly string $overlap,
        public readonly bool $paused,
        public readonly bool $declared,
        public readonly ?\DateTimeImmutable $next,
        public readonly ?\DateTimeImmutable $last,
        public readonly int $missed,
    ) {}
}
