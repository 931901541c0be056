<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/** What became of a published message. */
final class PublishedMessage
{
    /** @param bool $duplicate whether its id existed, and the message was left as it is or replaced */
    private function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly \DateTimeImmutable $dueAt,
        public readonly bool $duplicate,
    ) {
    }

    /** @internal */
    public static function from(Fields $fields): self
    {
        return new self(
            $fields->string('id'),
            $fields->string('topic'),
            $fields->int('partition'),
            $fields->time('dueAt'),
            $fields->bool('duplicate'),
        );
    }
}
