<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Settlement;

/**
 * A message that a worker has: it is handled, or waits to be settled.
 *
 * @internal
 */
final class Held
{
    public readonly string $receipt;

    /** What is to become of it; null: it is handled. */
    public ?Settlement $settlement = null;

    /** When its lease ends at the earliest, and when it is to be renewed. */
    public int $leaseEndsAt;
    public int $renewAt;

    /**
     * @param \stdClass $message as the gateway has answered it
     * @param int $lease in milliseconds
     * @param int $startedAt on the clock of Connection
     */
    public function __construct(
        public readonly \stdClass $message,
        private readonly int $lease,
        public readonly int $startedAt,
    ) {
        $this->receipt = $message->receipt;
        $this->renewed($startedAt);
    }

    /** Whether there is a lease to renew, and something to settle. */
    public function isLeased(): bool
    {
        return isset($this->message->leaseEndsAt);
    }

    /** Whether it is handled, and must not be when its lease has ended. */
    public function isRunning(): bool
    {
        return $this->isLeased() && $this->settlement === null;
    }

    /** @param int $at when it was asked for: the lease is not shorter than from then */
    public function renewed(int $at): void
    {
        $this->leaseEndsAt = $at + $this->lease;
        $this->renewAt = $at + intdiv($this->lease, 3);
    }
}
