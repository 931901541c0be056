<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\{LeaseStatus, Settlement, SettleStatus};

/** What its receiver does with a message. The first call that settles it counts; what comes later is Stale and changes nothing. */
trait Settling
{
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
