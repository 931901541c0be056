<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Time;

/** How a worker works. */
final class WorkerOptions
{
    /** Milliseconds. */
    public readonly int $lease;

    /** Milliseconds. */
    public readonly int $wait;

    /** Milliseconds. */
    public readonly int $stopTimeout;

    /** Milliseconds; null: as long as it takes. */
    public readonly ?int $handlerTimeout;

    /** @var \Closure(string): void */
    public readonly \Closure $log;

    /**
     * @param int $concurrency most messages at once, 1 to 200, each in a process of its own
     * @param int|string|\DateInterval $lease after which a message comes again if this whole worker is gone, at least 1
     *     s; 0: messages are delivered at most once
     * @param int|string|\DateInterval $wait longest time of one request that waits for messages
     * @param int|string|\DateInterval $stopTimeout longest time that handlers have to end when the worker is stopped;
     *     then their processes are ended, and their messages released
     * @param int|string|\DateInterval|null $handlerTimeout longest run of a handler; then its process is ended, and the
     *     attempt has failed
     * @param int $messagesPerProcess after so many messages a process is replaced by a new one
     * @param (\Closure(string): void)|null $log gets a sentence about what goes wrong; writes to STDERR by default
     * @throws InvalidArgumentException
     */
    public function __construct(
        public readonly int $concurrency = 1,
        int|string|\DateInterval $lease = '30s',
        int|string|\DateInterval $wait = '20s',
        int|string|\DateInterval $stopTimeout = '30s',
        int|string|\DateInterval|null $handlerTimeout = null,
        public readonly int $messagesPerProcess = 1000,
        ?\Closure $log = null,
    ) {
        $this->lease = Time::milliseconds('lease', $lease);
        $this->wait = Time::milliseconds('wait', $wait);
        $this->stopTimeout = Time::milliseconds('stopTimeout', $stopTimeout);
        $this->handlerTimeout = $handlerTimeout === null ? null : Time::milliseconds('handlerTimeout', $handlerTimeout);
        $this->log = $log ?? static function (string $line): void {
            file_put_contents('php://stderr', "[delay-queue worker] $line\n");
        };
        self::check('concurrency', $concurrency, 1, 200);
        self::check('messagesPerProcess', $messagesPerProcess, 1, PHP_INT_MAX);
        if ($this->lease !== 0) {
            self::check('lease in milliseconds', $this->lease, 1000, PHP_INT_MAX);
        }
    }

    private static function check(string $name, int $value, int $min, int $max): void
    {
        if ($value < $min || $value > $max) {
            $range = $max === PHP_INT_MAX ? "at least $min" : "between $min and $max";
            throw InvalidArgumentException::because("$name must be $range. Given: $value.");
        }
    }
}
