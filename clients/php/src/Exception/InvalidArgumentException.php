<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** Something that was given cannot be used; the detail says what, and what is allowed. */
final class InvalidArgumentException extends DelayQueueException
{
    /** @internal */
    public static function because(string $detail): self
    {
        return new self('INVALID_ARGUMENT', $detail);
    }
}
