<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/**
 * A message as its receiver has it, until its lease ends. The first call that settles it counts; what comes later is
 * Stale and changes nothing. The {@see $receipt} is text that any process can settle with DelayQueue::settle().
 */
final class ReceivedMessage
{
    /**
     * @param mixed $payload objects are \stdClass, or arrays with ClientOptions::$payloadsAsArrays
     * @param array<string, string> $headers
     * @param int $attempt 1 for the first
     * @param int $maxAttempts the attempt after which it becomes a dead letter
     * @param \DateTimeImmutable|null $leaseEndsAt on the clock of Redis; null if it is delivered at most once, and
     *     there is nothing to settle
     */
    private function __construct(
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
        public readonly ?\DateTimeImmutable $leaseEndsAt,
        public readonly string $receipt,
        private readonly DelayQueue $queue,
    ) {
    }

    /** @internal */
    public static function from(Fields $fields, DelayQueue $queue): self
    {
        return new self(
            $fields->string('id'),
            $fields->string('topic'),
            $fields->int('partition'),
            $fields->string('key'),
            $fields->payload('payload', $queue->options->payloadsAsArrays),
            $fields->strings('headers'),
            $fields->int('attempt'),
            $fields->int('maxAttempts'),
            $fields->time('publishedAt'),
            $fields->time('dueAt'),
            $fields->optionalTime('leaseEndsAt'),
            $fields->string('receipt'),
            $queue,
        );
    }

    /**
     * It is handled.
     *
     * @throws Exception\DelayQueueException
     */
    public function ack(): SettleStatus
    {
        return $this->settle(Settlement::ack($this->receipt));
    }

    /**
     * The attempt has failed: it comes again by its backoff, or after the delay, or is a dead letter after its last
     * attempt.
     *
     * @throws Exception\DelayQueueException
     */
    public function retry(?string $reason = null, int|string|\DateInterval|null $delay = null): SettleStatus
    {
        return $this->settle(Settlement::retry($this->receipt, $reason, $delay));
    }

    /**
     * It becomes a dead letter at once.
     *
     * @throws Exception\DelayQueueException
     */
    public function dead(?string $reason = null): SettleStatus
    {
        return $this->settle(Settlement::dead($this->receipt, $reason));
    }

    /**
     * It comes again at once, and spends no attempt.
     *
     * @throws Exception\DelayQueueException
     */
    public function release(): SettleStatus
    {
        return $this->settle(Settlement::release($this->receipt));
    }

    /**
     * Its lease ends so long after now.
     *
     * @param int|string|\DateInterval $lease at least 1 s
     * @throws Exception\DelayQueueException
     */
    public function extend(int|string|\DateInterval $lease): LeaseStatus
    {
        return $this->queue->extend($this->receipt, $lease);
    }

    private function settle(Settlement $settlement): SettleStatus
    {
        return $this->queue->settle([$settlement])[0]->status;
    }
}
