<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Exception\{DelayQueueException, UnauthorizedException};
use NestjsDelayQueue\Internal\{Time, Transport};
use NestjsDelayQueue\{LeaseStatus, Settlement, Worker};

/**
 * Has messages handled by child processes, each of which receives and settles by itself. This one renews their leases,
 * and ends and replaces them.
 */
final class Supervisor
{
    /** Milliseconds: how often it looks after everything, and how long it waits after what was of no use. */
    private const TICK = 100;
    private const PAUSE = 1_000;

    /** @var array<int, Child> */
    private array $children = [];

    /** @var list<Settlement> of messages whose process was ended */
    private array $unsettled = [];

    /** Longest time for an answer, in milliseconds: one that hangs must not keep it from renewing the leases in time. */
    private readonly int $timeout;
    private int $forkAt = 0;
    private int $renewAt = 0;
    private bool $isAway = false;

    /** When all handlers have to be done; null: not yet told to stop. */
    private ?int $stopBy = null;
    private ?DelayQueueException $refusal = null;

    public function __construct(private readonly Worker $worker)
    {
        $this->timeout = intdiv($worker->lease, 4);
    }

    /** @throws DelayQueueException if the gateway refuses to give messages */
    public function run(): void
    {
        try {
            while (!$this->isDone()) {
                $this->fork();
                $this->hear(self::TICK);
                $this->bury();
                $this->endLate();
                $this->renew();
                $this->endLost();
                $this->settle();
            }
        } finally {
            array_map(static fn (Child $child) => $child->kill(), $this->children);
        }
        if ($this->refusal !== null) {
            throw $this->refusal;
        }
    }

    private function isDone(): bool
    {
        if ($this->stopBy === null && ($this->refusal !== null || $this->worker->isStopping())) {
            $this->stopBy = Time::now() + $this->worker->shutdownTimeout;
            array_map(static fn (Child $child) => $child->kill(SIGTERM), $this->children);
        }
        return $this->stopBy !== null && $this->children === [];
    }

    private function fork(): void
    {
        $isFull = fn () => $this->stopBy !== null || count($this->children) >= $this->worker->concurrency;
        while (!$isFull() && Time::now() >= $this->forkAt) {
            $child = Child::fork($this->worker);
            if ($child !== null) {
                $this->children[] = $child;
                continue;
            }
            $this->say('The system has no room for another process, and it is tried again.');
            $this->forkAt = Time::now() + self::PAUSE;
        }
    }

    /** @param int $wait longest time until there is something to hear, in milliseconds */
    private function hear(int $wait = 0): void
    {
        $read = array_map(static fn (Child $child) => $child->stream, $this->children);
        $write = $except = null;
        // A signal ends it early, and PHP warns of that.
        if ($wait > 0 && ($read === [] || @stream_select($read, $write, $except, 0, $wait * 1000) === false)) {
            usleep(10_000);
        }
        foreach ($this->children as $child) {
            $child->hear($this->told(...));
            $this->refusal ??= $child->refusal;
        }
    }

    /** Removes those that have ended. */
    private function bury(): void
    {
        foreach ($this->children as $i => $child) {
            $end = $child->end();
            if ($end === null) {
                continue;
            }
            // What it has told before.
            $this->hear();
            unset($this->children[$i]);
            if (!$child->hasBegun) {
                $this->forkAt = Time::now() + self::PAUSE;
            }
            $this->giveBack($child, "Its process has ended before its handler returned ($end)");
        }
    }

    /** Ends handlers that have used up their time, or that of the worker. */
    private function endLate(): void
    {
        $limit = $this->worker->timeout;
        foreach ($this->children as $child) {
            if ($this->stopBy !== null && Time::now() >= $this->stopBy) {
                $child->kill();
                $this->giveBack($child, null);
            } elseif ($limit !== null && $child->held?->isHandling && Time::now() >= $child->held->startedAt + $limit) {
                $child->kill();
                $this->giveBack($child, new HandlerTimeout("The handler did not finish within its timeout of $limit ms."));
            }
        }
    }

    /** So early that a renewal may fail and be tried again. */
    private function renew(): void
    {
        $now = Time::now();
        $lease = $this->worker->lease;
        $held = array_filter(array_map(static fn (Child $child) => $child->held, $this->children));
        $leased = array_values(array_filter($held, static fn (Held $one) => $one->leasedAt !== null));
        $isDue = static fn (Held $one) => $now >= $one->leasedAt + intdiv($lease, 3);
        if (array_filter($leased, $isDue) !== [] && $now >= $this->renewAt) {
            $this->extend($leased, $now);
        }
    }

    /** @param non-empty-list<Held> $leased */
    private function extend(array $leased, int $now): void
    {
        $lease = $this->worker->lease;
        $extensions = array_map(static fn (Held $one) => ['receipt' => $one->receipt, 'lease' => $lease], $leased);
        try {
            $answer = $this->worker->queue->transport
                ->call('POST', '/v1/extend', ['extensions' => $extensions], timeout: $this->timeout, retryFor: 0);
            foreach ($answer->objects('results') as $i => $result) {
                $isStale = $result->enum('status', LeaseStatus::class) === LeaseStatus::Stale;
                $leased[$i]->leasedAt = $isStale ? null : $now;
            }
            $this->told('back');
        } catch (DelayQueueException $error) {
            if (self::mayBeDueToOne($error) && count($leased) > 1) {
                array_map(fn (Held $one) => $this->extend([$one], $now), $leased);
                return;
            }
            $this->told('away', $error->getMessage());
            $this->renewAt = Time::now() + min(self::PAUSE, intdiv($lease, 10));
        }
    }

    /** What its lease is lost of, somebody else may be handling. */
    private function endLost(): void
    {
        // A message that was handled in the meantime is not lost.
        $this->hear();
        foreach ($this->children as $child) {
            $held = $child->held;
            $isLeased = fn (?int $since) => $since !== null && Time::now() < $since + $this->worker->lease;
            if ($held?->isHandling && !$isLeased($held->leasedAt)) {
                $child->kill();
                $child->held = null;
                $this->say("Message '$held->id' has lost its lease, and its handler was ended.");
            }
        }
    }

    /**
     * Settles the message of a process that is ended.
     *
     * @param string|HandlerTimeout|null $reason why its attempt has failed; null: it has not
     */
    private function giveBack(Child $child, string|HandlerTimeout|null $reason): void
    {
        $held = $child->held;
        $child->held = null;
        if ($held?->isHandling) {
            $why = $reason instanceof HandlerTimeout ? $reason->getMessage() : "$reason.";
            $why = $reason === null ? 'It is released, since its handler was not done in time for the worker to stop.' : $why;
            $this->say("Message '$held->id' was not handled. $why");
            $this->unsettled[] = $reason === null
                ? Settlement::release($held->receipt)
                : Settlement::retry($held->receipt, $reason);
        } elseif ($held !== null) {
            $this->say("Message '$held->id' may come again: its process has ended before it was settled.");
        }
    }

    /** What is told of messages whose process was ended: of all that were ended in the meantime, in one request. */
    private function settle(): void
    {
        $settlements = $this->unsettled;
        $this->unsettled = [];
        if ($settlements !== []) {
            $this->settleTogether($settlements);
        }
    }

    /** @param non-empty-list<Settlement> $settlements */
    private function settleTogether(array $settlements): void
    {
        try {
            $this->worker->queue->settleFor(0, $settlements, $this->timeout);
        } catch (DelayQueueException $error) {
            if (self::mayBeDueToOne($error) && count($settlements) > 1) {
                array_map(fn (Settlement $one) => $this->settleTogether([$one]), $settlements);
                return;
            }
            $this->say("What was not handled comes again after its lease, since settling it failed: {$error->getMessage()}");
        }
    }

    /**
     * Whether a request about several messages may have been refused because of one, such as of a topic that is not
     * served any more. Then the others are asked for without it.
     */
    private static function mayBeDueToOne(DelayQueueException $error): bool
    {
        return !Transport::mayPass($error) && !$error instanceof UnauthorizedException;
    }

    /** That the gateway is away is said once, however many notice it. */
    private function told(string $event, string $text = ''): void
    {
        if ($event === 'log') {
            $this->say($text);
        } elseif ($event === 'stop') {
            $this->worker->stop();
        } elseif (($event === 'away') !== $this->isAway) {
            $this->isAway = !$this->isAway;
            $this->say($this->isAway
                ? "The gateway cannot serve at the moment, and is asked again: $text"
                : 'The gateway answers again.');
        }
    }

    private function say(string $sentence): void
    {
        ($this->worker->log)($sentence);
    }
}
