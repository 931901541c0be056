<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The gateway could not be reached or could not serve, and repeating has not helped. It may have done what was asked. */
final class UnavailableException extends DelayQueueException
{
    /** @param int $retryAfter for how many milliseconds the gateway does not want to be asked again */
    public function __construct(
        string $errorCode,
        string $detail,
        ?int $status = null,
        public readonly int $retryAfter = 0,
    ) {
        parent::__construct($errorCode, $detail, $status);
    }
}
