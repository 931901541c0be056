<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Thrown by a worker's handler: no attempt can succeed, and the message becomes a dead letter at once. */
final class GiveUp extends \RuntimeException
{
    /** @param string $reason why; kept with the dead letter */
    public function __construct(string $reason, ?\Throwable $previous = null)
    {
        parent::__construct($reason, 0, $previous);
    }
}
