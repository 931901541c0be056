<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Settlement;

/**
 * A process that handles one message after the other, as its worker sees it.
 *
 * @internal
 */
final class Child
{
    public ?Held $held = null;
    private int $handled = 0;
    private ?string $end = null;

    /** @param resource $stream */
    private function __construct(
        public readonly int $pid,
        public readonly mixed $stream,
        private readonly Frames $frames,
    ) {
    }

    /**
     * @param \Closure(ReceivedMessage): mixed $handler
     * @param \Closure(): void $prepare what the new process does first
     * @return self|null null: the system has no room for another process
     */
    public static function fork(DelayQueue $queue, \Closure $handler, \Closure $prepare): ?self
    {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            return null;
        }
        [$own, $other] = $pair;
        stream_set_blocking($own, false);
        stream_set_blocking($other, false);
        $pid = @pcntl_fork();
        if ($pid === 0) {
            fclose($own);
            $prepare();
            self::live(static fn () => self::serve($queue, $handler, new Frames($other)));
        }
        fclose($other);
        return $pid === -1 ? null : new self($pid, $own, new Frames($own));
    }

    /** @return bool false: it has died, and does not know of the message */
    public function give(Held $held): bool
    {
        $this->handled++;
        $this->held = $held;
        return $this->frames->write($held->message);
    }

    /** What its handler has come to; null: nothing yet. */
    public function report(): ?Settlement
    {
        $isOpen = $this->frames->fill();
        $report = $this->frames->next();
        if (!$isOpen && $this->end === null) {
            $this->awaitEnd();
        }
        return $report instanceof Settlement ? $report : null;
    }

    /** How it has died; null: it lives. */
    public function end(): ?string
    {
        // Something that its handler has started may hold its socket, so that this alone tells.
        if ($this->end === null && ($pid = pcntl_waitpid($this->pid, $status, WNOHANG)) !== 0) {
            $this->end = self::describe($pid, $status);
        }
        return $this->end;
    }

    public function handled(): int
    {
        return $this->handled;
    }

    /** It ends as soon as it has nothing to do. */
    public function dismiss(): void
    {
        $this->frames->close();
        if ($this->end === null) {
            $this->awaitEnd();
        }
    }

    public function kill(): void
    {
        if ($this->end === null) {
            posix_kill($this->pid, SIGKILL);
        }
        $this->dismiss();
    }

    /** The whole life of the new process: nothing of what its worker does after forking must happen here. */
    private static function live(\Closure $serve): never
    {
        try {
            // A terminal and systemd tell all processes to stop. Here the worker decides when its children do.
            pcntl_signal(SIGTERM, SIG_IGN);
            pcntl_signal(SIGINT, SIG_IGN);
            $serve();
        } catch (\Throwable $error) {
            file_put_contents('php://stderr', "[delay-queue worker] {$error->getMessage()}\n");
        }
        // Not exit(): destructors and shutdown functions belong to the process that this one was forked from.
        posix_kill((int) getmypid(), SIGKILL);
        exit(1);
    }

    private static function serve(DelayQueue $queue, \Closure $handler, Frames $frames): void
    {
        while (($message = $frames->read()) !== null) {
            $outcome = HandlerCall::outcome($handler, ReceivedMessage::from(new Fields($message), $queue));
            if (!$frames->write($outcome)) {
                return;
            }
        }
    }

    /** The process is at its very end: it has closed its socket, or was killed. */
    private function awaitEnd(): void
    {
        do {
            $pid = pcntl_waitpid($this->pid, $status);
        } while ($pid === -1 && pcntl_get_last_error() === PCNTL_EINTR);
        $this->end = self::describe($pid, $status);
    }

    /** Whoever ignores SIGCHLD is not told how a process has ended. */
    private static function describe(int $pid, int $status): string
    {
        return match (true) {
            $pid === -1 => 'nobody knows how',
            pcntl_wifsignaled($status) => 'signal ' . pcntl_wtermsig($status),
            default => 'exit code ' . pcntl_wexitstatus($status),
        };
    }
}
