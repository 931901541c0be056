<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Worker;
use NestjsDelayQueue\Exception\DelayQueueException;

/** A process that runs a Loop, as its worker sees it. It tells what happens as lines of JSON on a pair of sockets. */
final class Child
{
    /** The message that it has. */
    public ?Held $held = null;

    /** Whether it has ever had one. */
    public bool $hasBegun = false;

    /** What the gateway has refused it, so that no process can go on. */
    public ?DelayQueueException $refusal = null;
    private string $buffer = '';

    /** @param resource $stream */
    private function __construct(private readonly int $pid, public readonly mixed $stream) {}

    /** @return self|null null: the system has no room for another process */
    public static function fork(Worker $worker): ?self
    {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            return null;
        }
        [$own, $other] = $pair;
        $parent = posix_getpid();
        // They are the worker's, until the child says how it wants them.
        pcntl_sigprocmask(SIG_BLOCK, Worker::SIGNALS, $mask);
        $pid = @pcntl_fork();
        if ($pid === 0) {
            fclose($own);
            self::live($worker, $other, $parent);
        }
        pcntl_sigprocmask(SIG_SETMASK, $mask);
        fclose($other);
        stream_set_blocking($own, false);
        return $pid === -1 ? null : new self($pid, $own);
    }

    /** @param \Closure(string, string): void $hear gets what the worker itself is told */
    public function hear(\Closure $hear): void
    {
        while (is_string($bytes = @fread($this->stream, 65_536)) && $bytes !== '') {
            $this->buffer .= $bytes;
        }
        $lines = explode("\n", $this->buffer);
        $this->buffer = array_pop($lines);
        foreach ($lines as $line) {
            [$event, $details] = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
            if ($event === 'begun') {
                $this->held = new Held(...$details);
                $this->hasBegun = true;
            } elseif ($event === 'handled' && $this->held !== null) {
                $this->held->isHandling = false;
            } elseif ($event === 'settled') {
                $this->held = null;
            } elseif ($event === 'refused') {
                $this->refusal = new $details[0](...array_slice($details, 1));
            } else {
                $hear($event, $details[0] ?? '');
            }
        }
    }

    /**
     * How it has ended; null: it lives. Something that its handler has started may hold its socket, so that only the
     * system can tell.
     */
    public function end(): ?string
    {
        $pid = pcntl_waitpid($this->pid, $status, WNOHANG);
        return match (true) {
            $pid === 0 => null,
            // Whoever ignores SIGCHLD is not told.
            $pid === -1 => 'nobody knows how',
            pcntl_wifsignaled($status) => 'signal ' . pcntl_wtermsig($status),
            default => 'exit code ' . pcntl_wexitstatus($status),
        };
    }

    /** @param int $signal SIGTERM: it ends as soon as it has nothing to do */
    public function kill(int $signal = SIGKILL): void
    {
        posix_kill($this->pid, $signal);
    }

    /**
     * The whole life of the new process: nothing of what its worker does after forking must happen here.
     *
     * @param resource $stream
     */
    private static function live(Worker $worker, $stream, int $parent): never
    {
        $tell = static function (string $event, string|int|null ...$details) use ($stream): void {
            @fwrite($stream, json_encode([$event, $details], JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
        };
        try {
            (new Loop($worker, $parent, $tell))->run();
        } catch (DelayQueueException $error) {
            $tell('refused', $error::class, $error->errorCode, $error->detail, $error->status);
        } catch (\Throwable $error) {
            $tell('log', "A process has failed: $error");
        }
        // Not exit(): destructors and shutdown functions belong to the process that this one was forked from.
        posix_kill(posix_getpid(), SIGKILL);
        exit(1);
    }
}
