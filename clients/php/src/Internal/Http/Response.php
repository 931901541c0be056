<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

/** @internal */
final class Response
{
    /** @param array<string, string> $headers names in lower case */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }

    /** For how many milliseconds the gateway does not want to be asked again. */
    public function retryAfter(): int
    {
        $seconds = $this->headers['retry-after'] ?? '';
        return ctype_digit($seconds) && strlen($seconds) < 9 ? (int) $seconds * 1000 : 0;
    }
}
