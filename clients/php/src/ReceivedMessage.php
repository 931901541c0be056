<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * A message as its receiver has it, until its lease ends. The first call that settles it counts; what comes later is
 * Stale and changes nothing.
 */
final class ReceivedMessage
{
    /**
     * @param mixed $payload objects are \stdClass
     * @param array<string, string> $headers
     * @param int $attempt 1 for the first
     * @param int $maxAttempts the attempt after which it becomes a dead letter
     * @param int $lease for how many milliseconds it is yours, from when it was received; 0: there is nothing to settle
     * @param string $receipt by which any process can settle it
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
        public readonly \DateTimeImmutable $publishedAt,
        public readonly \DateTimeImmutable $dueAt,
        public readonly int $lease,
        public readonly string $receipt,
        private readonly DelayQueue $queue,
    ) {}

    /** It is handled. */
    public function ack(): SettleStatus
    {
        return $this->queue->settle(Settlement::ack($this->receipt));
    }

    /** The attempt has failed: it comes again by its backoff, or after the delay, or is a dead letter after the last. */
    public function retry(string|\Throwable|null $reason = null, int|string|\DateInterval|null $delay = null): SettleStatus
    {
        return $this->queue->settle(Settlement::retry($this->receipt, $reason, $delay));
    }

    /** It becomes a dead letter at once. */
    public function dead(string|\Throwable|null $reason = null): SettleStatus
    {
        return $this->queue->settle(Settlement::dead($this->receipt, $reason));
    }

    /** It comes again, at once or after the delay, and spends no attempt. */
    public function release(int|string|\DateInterval|null $delay = null): SettleStatus
    {
        return $this->queue->settle(Settlement::release($this->receipt, $delay));
    }

    /** Its lease ends so long after now, at least 1 s. */
    public function extend(int|string|\DateInterval $lease): LeaseStatus
    {
        return $this->queue->extend($this->receipt, $lease);
    }
}
