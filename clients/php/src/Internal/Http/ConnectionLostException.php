<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

/**
 * A request that has failed on its way.
 *
 * @internal
 */
final class ConnectionLostException extends \RuntimeException
{
    /**
     * @param bool $wasReused whether an older connection had ended in the meantime, as servers do: a new one may work
     *     at once
     */
    public function __construct(
        string $message,
        public readonly bool $wasReused = false,
    ) {
        parent::__construct($message);
    }
}
