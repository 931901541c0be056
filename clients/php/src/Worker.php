<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Worker\ForkingLoop;
use NestjsDelayQueue\Internal\Worker\InProcessLoop;
use NestjsDelayQueue\Internal\Worker\StopSignals;

/**
 * Receives messages and gives each to a handler. What the handler returns from is acknowledged; if it throws, the
 * message comes again.
 *
 * Handlers run in child processes, while this process renews their leases and settles what they did. Without the
 * extensions pcntl and posix the one handler runs in this process, and no lease is renewed: then the lease must be
 * longer than any handler takes.
 */
final class Worker
{
    private readonly StopSignals $signals;
    private readonly \Closure $handler;

    /**
     * @param string|list<string> $topics of several, the messages of the first come first
     * @param callable(ReceivedMessage): mixed $handler may throw RetryLater or GiveUp; opens what it needs, such as a
     *     database, itself
     * @throws InvalidArgumentException if it is to do several things at once, and this PHP cannot
     */
    public function __construct(
        private readonly DelayQueue $queue,
        private readonly string|array $topics,
        callable $handler,
        private readonly WorkerOptions $options = new WorkerOptions(),
    ) {
        $this->handler = $handler(...);
        $this->signals = new StopSignals();
        if ($options->concurrency > 1 && !self::canFork()) {
            throw InvalidArgumentException::because(
                'concurrency must be 1 without the extensions pcntl and posix, which this PHP lacks. ' .
                    "Given: $options->concurrency.",
            );
        }
    }

    /**
     * Works until SIGTERM, SIGINT or stop(). Then it takes no more messages, lets running handlers end, and settles
     * what they did. It goes on by itself after the gateway was away.
     *
     * @throws DelayQueueException if the gateway refuses to give messages, for example since the token has no right to
     */
    public function run(): void
    {
        $loop = self::canFork()
            ? new ForkingLoop($this->queue, $this->topics, $this->handler, $this->options, $this->signals)
            : new InProcessLoop($this->queue, $this->topics, $this->handler, $this->options, $this->signals);
        $this->signals->install();
        try {
            $loop->run();
        } finally {
            $this->signals->restore();
        }
    }

    /**
     * As SIGTERM; for signal handlers of the application. In a handler it stops the worker only if that runs in its
     * process.
     */
    public function stop(): void
    {
        $this->signals->stop();
    }

    private static function canFork(): bool
    {
        return function_exists('pcntl_fork') && function_exists('posix_kill');
    }
}
