<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What became of a published message. */
final class PublishedMessage
{
    /** @param bool $duplicate whether its id existed, and the message was left as it is or replaced */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly \DateTimeImmutable $dueAt,
        public readonly bool $duplicate,
    ) {}
}
