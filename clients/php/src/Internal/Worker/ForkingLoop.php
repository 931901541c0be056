<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Internal\Http\Connection;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\WorkerOptions;

/**
 * The work of a worker whose handlers run in child processes.
 *
 * @internal
 */
final class ForkingLoop
{
    /** Longest wait, in milliseconds: a signal may come just before waiting begins, and is noticed after. */
    private const LONGEST_WAIT = 500;

    private readonly Poll $poll;
    private readonly Keeper $keeper;

    /** @var array<int, Child> by process id */
    private array $children = [];

    /** When all has to be over; null: not yet told to stop. */
    private ?int $stopBy = null;
    private ?DelayQueueException $failure = null;

    /**
     * @param string|list<string> $topics
     * @param \Closure(ReceivedMessage): mixed $handler
     */
    public function __construct(
        private readonly DelayQueue $queue,
        string|array $topics,
        private readonly \Closure $handler,
        private readonly WorkerOptions $options,
        private readonly StopSignals $signals,
    ) {
        // One that hangs must not keep the worker from renewing leases.
        $timeout = min($queue->options->timeout, $options->lease === 0 ? PHP_INT_MAX : intdiv($options->lease, 3));
        $this->poll = new Poll($queue->transport(), $topics, $options, $queue->options->timeout);
        $this->keeper = new Keeper($queue->transport(), $options, $timeout);
    }

    public function run(): void
    {
        try {
            while (!$this->isDone()) {
                $this->collectReports();
                $this->endLate();
                $this->keeper->settle();
                $this->endLost();
                $this->receive();
                $this->wait();
            }
        } finally {
            $this->endChildren();
        }
        if ($this->failure !== null) {
            throw $this->failure;
        }
    }

    private function isDone(): bool
    {
        if ($this->stopBy === null && ($this->signals->isStopping() || $this->failure !== null)) {
            $this->stopBy = Connection::now() + $this->options->stopTimeout;
            $this->releaseUntouched();
        }
        if ($this->stopBy === null) {
            return false;
        }
        // What cannot be settled for so long has come again.
        return $this->keeper->count() === 0 || Connection::now() > $this->stopBy + $this->options->lease;
    }

    private function releaseUntouched(): void
    {
        try {
            $messages = $this->poll->stop();
        } catch (DelayQueueException $error) {
            $this->failure ??= $error;
            return;
        }
        foreach ($messages as $message) {
            $held = new Held($message, $this->options->lease, Connection::now());
            $held->settlement = Settlement::release($held->receipt);
            $this->keeper->add($held);
        }
    }

    private function collectReports(): void
    {
        foreach ($this->children as $child) {
            $report = $child->report();
            $held = $child->held;
            if ($report !== null && $held !== null) {
                $held->settlement = $report;
                $child->held = null;
                if ($child->handled() >= $this->options->messagesPerProcess) {
                    $this->remove($child);
                }
            } elseif (($end = $child->end()) !== null) {
                $this->remove($child);
                $this->failed($child, "Its process has ended before its handler returned ($end)");
            }
        }
    }

    /** Handlers that have used up their time, or that of the worker. */
    private function endLate(): void
    {
        $now = Connection::now();
        $limit = $this->options->handlerTimeout;
        foreach ($this->children as $child) {
            $held = $child->held;
            if ($held === null) {
                continue;
            }
            if ($this->stopBy !== null && $now >= $this->stopBy) {
                $this->kill($child);
                $held->settlement = Settlement::release($held->receipt);
                $this->log($held, 'was released: its handler was not done in time for the worker to stop');
            } elseif ($limit !== null && $now >= $held->startedAt + $limit) {
                $this->kill($child);
                $this->failed($child, "Its handler was not done after $limit ms");
            }
        }
    }

    /** What its lease is lost of, somebody else may be handling. */
    private function endLost(): void
    {
        $lost = $this->keeper->renew();
        foreach ($this->children as $child) {
            if ($child->held !== null && in_array($child->held, $lost, true)) {
                $this->log($child->held, 'has lost its lease, and its handler was ended');
                $child->held = null;
                $this->kill($child);
            }
        }
    }

    private function receive(): void
    {
        $room = $this->options->concurrency - $this->keeper->count();
        if ($this->stopBy !== null || $this->failure !== null || $room <= 0 && !$this->poll->isWaiting()) {
            return;
        }
        try {
            $this->poll->start($room, $this->keeper->patience());
            foreach ($this->poll->collect() as $message) {
                $this->handle(new Held($message, $this->options->lease, Connection::now()));
            }
        } catch (DelayQueueException $error) {
            $this->failure = $error;
        }
    }

    private function handle(Held $held): void
    {
        $this->keeper->add($held);
        $child = $this->idleChild() ?? $this->fork();
        if ($child === null || !$child->give($held)) {
            $held->settlement = Settlement::release($held->receipt);
            if ($child !== null) {
                $child->held = null;
            }
            $this->log($held, 'was released: there is no process to handle it');
        }
    }

    private function idleChild(): ?Child
    {
        foreach ($this->children as $child) {
            if ($child->held === null && $child->end() === null) {
                return $child;
            }
        }
        return null;
    }

    private function fork(): ?Child
    {
        // A connection that a child has too would not end with this process: the gateway would go on waiting for it.
        $this->poll->disconnect();
        $this->queue->transport()->disconnect();
        $others = $this->children;
        $child = Child::fork($this->queue, $this->handler, static function () use ($others): void {
            foreach ($others as $other) {
                fclose($other->stream);
            }
        });
        if ($child !== null) {
            $this->children[$child->pid] = $child;
        }
        return $child;
    }

    private function failed(Child $child, string $reason): void
    {
        if ($child->held !== null) {
            $this->log($child->held, "has failed: $reason");
            $child->held->settlement = Settlement::retry($child->held->receipt, $reason);
            $child->held = null;
        }
    }

    private function kill(Child $child): void
    {
        $child->kill();
        unset($this->children[$child->pid]);
    }

    private function remove(Child $child): void
    {
        $child->dismiss();
        unset($this->children[$child->pid]);
    }

    private function endChildren(): void
    {
        foreach ($this->children as $child) {
            $this->kill($child);
        }
        $this->poll->disconnect();
    }

    private function log(Held $held, string $what): void
    {
        ($this->options->log)("Message '{$held->message->id}' $what.");
    }

    private function wait(): void
    {
        $now = Connection::now();
        $times = [$now + self::LONGEST_WAIT, $this->keeper->nextAt() ?? PHP_INT_MAX];
        $hasRoom = $this->keeper->count() < $this->options->concurrency;
        if ($this->stopBy === null && ($this->poll->isWaiting() || $hasRoom)) {
            $times[] = $this->poll->nextAt();
        }
        $connection = $this->poll->isWaiting() ? $this->poll->connection() : null;
        $read = array_map(static fn (Child $child) => $child->stream, array_values($this->children));
        $write = $connection?->isSending() ? [$connection->stream()] : [];
        if ($connection !== null) {
            $read[] = $connection->stream();
        }
        $milliseconds = max(0, min($times) - $now);
        if ($read === []) {
            usleep($milliseconds * 1000);
            return;
        }
        $except = null;
        // A signal ends it early, and PHP warns of that.
        @stream_select($read, $write, $except, 0, $milliseconds * 1000);
    }
}
