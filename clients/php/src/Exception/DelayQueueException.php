<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** Whatever goes wrong. Its classes are for what callers treat differently; the code names each case. */
class DelayQueueException extends \RuntimeException
{
    /**
     * @param string $errorCode such as 'DUPLICATE_MESSAGE'
     * @param string $detail what was wrong and what to do, as a sentence
     * @param int|null $status the HTTP status; null if nothing was answered
     */
    public function __construct(
        public readonly string $errorCode,
        public readonly string $detail,
        public readonly ?int $status = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct("$errorCode: $detail", $status ?? 0, $previous);
    }
}
