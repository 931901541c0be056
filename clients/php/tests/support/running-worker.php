<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Worker;
use NestjsDelayQueue\WorkerOptions;

/** A worker in a process of its own. */
final class RunningWorker
{
    public readonly Journal $journal;
    private readonly int $pid;
    private bool $isRunning = true;

    /** @param \Closure(ReceivedMessage, Journal): void $handler */
    public function __construct(DelayQueue $queue, string $topic, \Closure $handler, WorkerOptions $options)
    {
        $this->journal = new Journal();
        $journal = $this->journal;
        $this->pid = fork(static function () use ($queue, $topic, $handler, $options, $journal): void {
            (new Worker($queue, $topic, static fn ($message) => $handler($message, $journal), $options))->run();
            $journal->write('stopped');
        });
    }

    /** Waits until it has stopped by itself. */
    public function stop(): void
    {
        posix_kill($this->pid, SIGTERM);
        pcntl_waitpid($this->pid, $status);
        $this->isRunning = false;
        same(['stopped'], $this->journal->lines('stopped'), 'what the worker has written at its end');
    }

    public function __destruct()
    {
        if ($this->isRunning) {
            posix_kill($this->pid, SIGKILL);
        }
        $this->journal->remove();
    }
}
