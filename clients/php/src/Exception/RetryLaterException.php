<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/**
 * Thrown by a handler that cannot do its work now: the message comes again after the delay, and no attempt is spent,
 * however often this happens. A delay that the gateway cannot read counts as 30 s.
 */
final class RetryLaterException extends \RuntimeException
{
    public function __construct(
        public readonly int|string|\DateInterval $delay,
        string $reason = 'The handler asked for the message again later',
        ?\Throwable $previous = null,
    ) {
        parent::__construct($reason, 0, $previous);
    }
}
