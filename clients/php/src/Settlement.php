<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** A receipt and what is to become of its message, for DelayQueue::settle(). */
final class Settlement
{
    /** @param 'ack'|'retry'|'dead'|'release' $outcome */
    private function __construct(
        public readonly string $receipt,
        public readonly string $outcome,
        public readonly ?string $reason = null,
        public readonly int|string|\DateInterval|null $delay = null,
    ) {}

    /** It is handled. */
    public static function ack(string $receipt): self
    {
        return new self($receipt, 'ack');
    }

    /**
     * The attempt has failed.
     *
     * @param string|null $reason kept in the history of the message
     * @param int|string|\DateInterval|null $delay until it comes again; by its backoff, if left out
     */
    public static function retry(string $receipt, ?string $reason = null, int|string|\DateInterval|null $delay = null): self
    {
        return new self($receipt, 'retry', $reason, $delay);
    }

    /** It becomes a dead letter at once. */
    public static function dead(string $receipt, ?string $reason = null): self
    {
        return new self($receipt, 'dead', $reason);
    }

    /** It comes again, at once or after the delay, and spends no attempt. */
    public static function release(string $receipt, int|string|\DateInterval|null $delay = null): self
    {
        return new self($receipt, 'release', null, $delay);
    }

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        return Json::given([...get_object_vars($this), 'delay' => Time::duration('delay', $this->delay)]);
    }
}
