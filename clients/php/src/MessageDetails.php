<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/** A message as it is stored. */
final class MessageDetails
{
    /**
     * @param \DateTimeImmutable $at scheduled: when it is due; in flight: when its lease ends; dead: when it died;
     *     finished: when it ended
     * @param string|null $outcome finished: what became of it
     * @param array<string, string> $headers
     * @param list<string> $tags
     * @param int $deliveries so far
     * @param int $attempts spent so far
     * @param \stdClass|null $failure why it is dead, or why the latest attempt failed: reason, name, message, and more
     * @param list<\stdClass> $history the latest attempts that failed, the last one first
     */
    private function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly MessageState $state,
        public readonly \DateTimeImmutable $at,
        public readonly ?string $outcome,
        public readonly ?\DateTimeImmutable $publishedAt,
        public readonly ?\DateTimeImmutable $dueAt,
        public readonly mixed $payload,
        public readonly array $headers,
        public readonly array $tags,
        public readonly int $deliveries,
        public readonly int $attempts,
        public readonly ?\stdClass $failure,
        public readonly array $history,
    ) {
    }

    /** @internal */
    public static function from(Fields $fields, bool $payloadsAsArrays): self
    {
        return new self(
            $fields->string('id'),
            $fields->string('topic'),
            $fields->int('partition'),
            $fields->string('key'),
            $fields->enum('state', MessageState::class),
            $fields->time('at'),
            $fields->optionalString('outcome'),
            $fields->optionalTime('publishedAt'),
            $fields->optionalTime('dueAt'),
            $fields->payload('payload', $payloadsAsArrays),
            $fields->strings('headers'),
            $fields->list('tags'),
            $fields->int('deliveries'),
            $fields->int('attempts'),
            $fields->optionalObject('failure'),
            $fields->list('history'),
        );
    }
}
