<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Thrown by a worker's handler: the attempt has failed, and the message comes again after a delay. */
final class RetryLater extends \RuntimeException
{
    /**
     * @param int|string|\DateInterval $delay until it comes again
     * @param string $reason why; kept in the history of the message
     */
    public function __construct(
        public readonly int|string|\DateInterval $delay,
        string $reason = 'Its handler asked for another attempt later',
        ?\Throwable $previous = null,
    ) {
        parent::__construct($reason, 0, $previous);
    }
}
