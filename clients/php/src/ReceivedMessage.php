<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A message that belongs to its receiver until its lease ends. The first settlement of its receipt counts. */
final class ReceivedMessage
{
    use Internal\Settling;

    /**
     * @param string $id Names the message; the same in each delivery.
     * @param string $topic Where it was published.
     * @param int $partition Where it is in the topic.
     * @param string $key Its key; the id, if it was published without one.
     * @param mixed $payload As it was published; the same as the first argument of the handler.
     * @param array<string, string> $headers As they were published.
     * @param int $attempt Which attempt this is, 1 for the first.
     * @param int $maxAttempts The attempt after which the message becomes a dead letter.
     * @param int|float $lease For how long it belonged to its receiver when it was given, in milliseconds; 0: at
     *     most once, so it need not be settled.
     * @param string $receipt Settles the delivery, and extends its lease, in any process: a text for URLs and
     *     headers.
     * @param \DateTimeImmutable $publishedAt When it was published.
     * @param \DateTimeImmutable $dueAt When this delivery was due, on the Redis server's clock; for a retry, the
     *     end of its backoff.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly string $key,
        public readonly mixed $payload,
        public readonly array $headers,
        public readonly int $attempt,
        public readonly int $maxAttempts,
        public readonly int|float $lease,
        public readonly string $receipt,
        public readonly \DateTimeImmutable $publishedAt,
        public readonly \DateTimeImmutable $dueAt,
        private readonly DelayQueue $queue,
    ) {}
}
