<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** Thrown by a handler: no attempt can succeed, and the message becomes a dead letter at once. */
final class UnrecoverableException extends \RuntimeException
{
    /** @param string $reason kept with the dead letter */
    public function __construct(string $reason, ?\Throwable $previous = null)
    {
        parent::__construct($reason, 0, $previous);
    }
}
