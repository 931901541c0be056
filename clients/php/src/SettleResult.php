<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/** What came of settling one of several messages. */
final class SettleResult
{
    private function __construct(public readonly string $receipt, public readonly SettleStatus $status)
    {
    }

    /** @internal */
    public static function from(Fields $fields): self
    {
        return new self($fields->string('receipt'), $fields->enum('status', SettleStatus::class));
    }
}
