<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/**
 * What the gateway has refused or could not do. Its classes are for what callers treat differently; {@see $errorCode}
 * names each case.
 */
class DelayQueueException extends \RuntimeException
{
    /**
     * @param string $errorCode such as 'DUPLICATE_MESSAGE'
     * @param string $detail what was wrong and what to do, as a sentence
     * @param int|null $status the HTTP status; null if the gateway was not asked or has not answered
     */
    final public function __construct(
        public readonly string $errorCode,
        public readonly string $detail,
        public readonly ?int $status = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct("$errorCode: $detail", $status ?? 0, $previous);
    }
}
