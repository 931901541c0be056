<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Time;

/** How the client speaks with the gateway. */
final class ClientOptions
{
    /** Milliseconds. */
    public readonly int $connectTimeout;

    /** Milliseconds. */
    public readonly int $timeout;

    /**
     * @param int|string|\DateInterval $connectTimeout longest time to connect
     * @param int|string|\DateInterval $timeout longest time for an answer to one try; a receive has its `wait` in
     *     addition
     * @param int $retries how often a request is repeated that failed on the way, or that the gateway could not serve
     *     at the moment. The waits between the tries grow from 0.1 s to 2 s, so that 5 of them bridge 2 s.
     * @param bool $payloadsAsArrays whether objects in payloads become arrays instead of \stdClass. Then an empty
     *     object cannot be told from an empty list.
     * @param array<string, mixed> $tls options of PHP's SSL context, such as `['cafile' => '/etc/ssl/own-ca.pem']`
     * @throws InvalidArgumentException
     */
    public function __construct(
        int|string|\DateInterval $connectTimeout = '3s',
        int|string|\DateInterval $timeout = '10s',
        public readonly int $retries = 5,
        public readonly bool $payloadsAsArrays = false,
        public readonly array $tls = [],
    ) {
        $this->connectTimeout = Time::milliseconds('connectTimeout', $connectTimeout);
        $this->timeout = Time::milliseconds('timeout', $timeout);
        if ($this->connectTimeout === 0 || $this->timeout === 0) {
            throw InvalidArgumentException::because('connectTimeout and timeout must be at least 1 ms.');
        }
        if ($retries < 0) {
            throw InvalidArgumentException::because("retries must be at least 0. Given: $retries.");
        }
    }
}
