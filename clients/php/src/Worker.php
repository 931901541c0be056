<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\{DelayQueueException, InvalidArgumentException};
use NestjsDelayQueue\Internal\Time;
use NestjsDelayQueue\Internal\Worker\Supervisor;

/**
 * Receives messages and gives each to a handler. What the handler returns from is acknowledged; if it throws, the
 * message comes again. Handlers run in child processes, while this process renews the leases of their messages.
 */
final class Worker
{
    /** @internal */
    public const SIGNALS = [SIGTERM, SIGINT];

    /** Bytes of a name that the gateway takes. */
    private const LONGEST_CONSUMER = 128;

    public readonly \Closure $handler;
    public readonly \Closure $log;

    /** Milliseconds, as the following. */
    public readonly int $lease;
    public readonly int $wait;
    public readonly ?int $timeout;
    public readonly int $shutdownTimeout;

    /** null: the host has no name, and the gateway gives one. */
    public readonly ?string $consumer;
    private bool $isStopping = false;

    /**
     * @param string|list<string> $topics of several, the messages of the first come first
     * @param callable(ReceivedMessage): mixed $handler may throw RetryLaterException or UnrecoverableException; opens
     *     what it needs, such as a database, itself. A generator or a promise as its result has not run: it is a failure
     * @param int $concurrency most handlers at once, 1 to 200, each in a process of its own
     * @param int|string|\DateInterval $lease after which a message comes again if this whole worker is gone, at least
     *     1 s; renewed after each third of it
     * @param int|string|\DateInterval $wait for how long one request waits for messages, 100 ms to a minute. Where a
     *     proxy does not tell the gateway that a stopped worker waits no more, what falls due meanwhile comes after its
     *     lease
     * @param int|string|\DateInterval|null $timeout longest run of a handler; then its process is ended, and the attempt
     *     has failed
     * @param int|string|\DateInterval $shutdownTimeout how long handlers may take to end when the worker is stopped;
     *     then their processes are ended, and their messages released
     * @param string|null $consumer names this worker for those who look at the fleet, 1 to 128 characters; the name of
     *     the host by default
     * @param (\Closure(string): void)|null $log gets a sentence about what goes wrong; writes to STDERR by default
     * @throws InvalidArgumentException
     */
    public function __construct(
        public readonly DelayQueue $queue,
        public readonly string|array $topics,
        callable $handler,
        public readonly int $concurrency = 1,
        int|string|\DateInterval $lease = '30s',
        int|string|\DateInterval $wait = '5s',
        int|string|\DateInterval|null $timeout = null,
        int|string|\DateInterval $shutdownTimeout = '10s',
        ?\Closure $log = null,
        ?string $consumer = null,
    ) {
        if (!function_exists('pcntl_fork') || !function_exists('posix_kill')) {
            $detail = 'A worker needs the extensions pcntl and posix. Without them, call receive() again and again.';
            throw InvalidArgumentException::because($detail);
        }
        if ($concurrency < 1 || $concurrency > 200) {
            throw InvalidArgumentException::because("concurrency must be 1 to 200. Given: $concurrency.");
        }
        $this->handler = $handler(...);
        $this->lease = Time::milliseconds('lease', $lease, 1_000);
        // A shorter one would ask without a pause.
        $this->wait = Time::milliseconds('wait', $wait, 100, 60_000);
        $this->timeout = $timeout === null ? null : Time::milliseconds('timeout', $timeout, 1);
        $this->shutdownTimeout = Time::milliseconds('shutdownTimeout', $shutdownTimeout);
        $this->consumer = $consumer ?? (substr((string) gethostname(), 0, self::LONGEST_CONSUMER) ?: null);
        $this->log = $log ?? static function (string $line): void {
            file_put_contents('php://stderr', "[delay-queue worker] $line\n");
        };
    }

    /**
     * Works until SIGTERM, SIGINT or stop(). Then it takes no more messages, lets running handlers end, and settles
     * what they did. It goes on by itself after the gateway was away.
     *
     * @throws DelayQueueException if the gateway refuses to give messages, for example since the token has no right to
     *     them, or a guard before it does, or its certificate is not trusted
     */
    public function run(): void
    {
        $wasAsync = pcntl_async_signals(true);
        $previous = array_map(pcntl_signal_get_handler(...), self::SIGNALS);
        foreach (self::SIGNALS as $signal) {
            // A wait ends when the signal comes.
            pcntl_signal($signal, $this->stop(...), false);
        }
        try {
            (new Supervisor($this))->run();
        } finally {
            array_map(pcntl_signal(...), self::SIGNALS, $previous);
            pcntl_async_signals($wasAsync);
            $this->isStopping = false;
        }
    }

    /** As SIGTERM; for signal handlers of the application, and for handlers, whose message is settled before. */
    public function stop(): void
    {
        $this->isStopping = true;
    }

    /** @internal */
    public function isStopping(): bool
    {
        return $this->isStopping;
    }
}
