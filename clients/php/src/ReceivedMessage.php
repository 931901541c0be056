<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A message that belongs to its receiver until its lease ends. The first settlement of its receipt counts. */
final class ReceivedMessage
{
    use Internal\Settling;

    /**
     * @param string $id Id of the message, the same in each delivery.
     * @param string $topic Topic that it was published to.
     * @param int $partition Index of its partition in the topic.
     * @param string $key Its key; the id, if it was published without one.
     * @param mixed $payload Payload as it was published; the same as the first argument of the handler.
     * @param array<string, string> $headers Headers as they were published.
     * @param int $attempt Number of this attempt, 1 for the first.
     * @param int $maxAttempts Number of the attempt after which the message becomes a dead letter.
     * @param int|float $lease Lease that it was received with, in milliseconds; 0 if it was received at most once,
     *     so it needs no settling.
     * @param string $receipt Text with which any process can settle the delivery or extend its lease; fit for URLs
     *     and headers.
     * @param \DateTimeImmutable $publishedAt Time when it was published.
     * @param \DateTimeImmutable $dueAt Time when this delivery was due, on the Redis server's clock; for a retry,
     *     the end of its backoff.
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
