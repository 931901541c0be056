<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Time;

/** A receipt and what is to become of its message, for DelayQueue::settle(). */
final class Settlement
{
    private function __construct(
        public readonly string $receipt,
        public readonly Outcome $outcome,
        public readonly int|string|\DateInterval|null $delay = null,
        public readonly ?string $reason = null,
    ) {
    }

    /** It is handled. */
    public static function ack(string $receipt): self
    {
        return new self($receipt, Outcome::Ack);
    }

    /**
     * The attempt has failed.
     *
     * @param string|null $reason why; kept in the history of the message
     * @param int|string|\DateInterval|null $delay until it comes again; by its backoff, if left out
     */
    public static function retry(
        string $receipt,
        ?string $reason = null,
        int|string|\DateInterval|null $delay = null,
    ): self {
        return new self($receipt, Outcome::Retry, $delay, $reason);
    }

    /** It becomes a dead letter at once. */
    public static function dead(string $receipt, ?string $reason = null): self
    {
        return new self($receipt, Outcome::Dead, null, $reason);
    }

    /** It comes again at once, and spends no attempt. */
    public static function release(string $receipt): self
    {
        return new self($receipt, Outcome::Release);
    }

    /**
     * @internal
     * @return array<string, mixed>
     */
    public function toFields(): array
    {
        $fields = [
            'receipt' => $this->receipt,
            'outcome' => $this->outcome->value,
            'delay' => Time::optionalDuration('delay', $this->delay),
            'reason' => $this->reason,
        ];
        return array_filter($fields, static fn ($value) => $value !== null);
    }
}
