<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Worker;

/** Runs something in another process. @return int its id */
function fork(\Closure $run): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $result = resultOf($run);
        if ($result !== 'ok') {
            fwrite(STDERR, "$result\n");
        }
        // Not exit(): shutdown functions and destructors belong to the test.
        posix_kill(getmypid(), $result === 'ok' ? SIGKILL : SIGABRT);
    }
    return $pid;
}

/** What several processes write down, line by line. */
final class Journal
{
    private readonly string $file;

    public function __construct()
    {
        $this->file = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
    }

    public function write(string $line): void
    {
        file_put_contents($this->file, "$line\n", FILE_APPEND | LOCK_EX);
    }

    /** @return list<string> those that begin like this */
    public function lines(string $beginning = ''): array
    {
        $lines = file($this->file, FILE_IGNORE_NEW_LINES) ?: [];
        return array_values(array_filter($lines, static fn ($line) => str_starts_with($line, $beginning)));
    }

    public function remove(): void
    {
        unlink($this->file);
    }
}

/** A worker in a process of its own. What it says is in its journal. */
final class RunningWorker
{
    public readonly Journal $journal;
    private readonly int $pid;
    private bool $isRunning = true;

    /**
     * @param \Closure(ReceivedMessage, Journal): void $handler
     * @param array<string, mixed> $options of a Worker
     */
    public function __construct(DelayQueue $queue, string $topic, \Closure $handler, array $options = [])
    {
        $this->journal = $journal = new Journal();
        $options['log'] = static fn (string $line) => $journal->write("says $line");
        $this->pid = fork(static function () use ($queue, $topic, $handler, $options, $journal): void {
            (new Worker($queue, $topic, static fn ($message) => $handler($message, $journal), ...$options))->run();
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

    public function kill(): void
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
        $this->isRunning = false;
    }

    public function __destruct()
    {
        if ($this->isRunning) {
            $this->kill();
        }
        $this->journal->remove();
    }
}
