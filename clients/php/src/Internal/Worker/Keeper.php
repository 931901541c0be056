<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Http\Connection;
use NestjsDelayQueue\Internal\Http\Request;
use NestjsDelayQueue\Internal\Requests;
use NestjsDelayQueue\Internal\Transport;
use NestjsDelayQueue\LeaseStatus;
use NestjsDelayQueue\Outcome;
use NestjsDelayQueue\SettleStatus;
use NestjsDelayQueue\WorkerOptions;

/**
 * Keeps the messages of a worker: renews their leases, and settles them. What fails is tried again, later.
 *
 * @internal
 */
final class Keeper
{
    /** Most settlements in one request, as many as a gateway takes. */
    private const MAX_BATCH = 1_000;

    /** @var array<string, Held> by receipt */
    private array $held = [];

    /** A settling that was not answered, which is repeated as it was: the gateway does it once. */
    private ?Request $settling = null;
    private int $settleAt = 0;
    private int $renewAt = 0;
    private int $failures = 0;

    /** @param int $timeout longest time for an answer, in milliseconds */
    public function __construct(
        private readonly Transport $transport,
        private readonly WorkerOptions $options,
        private readonly int $timeout,
    ) {
    }

    public function add(Held $held): void
    {
        $this->held[$held->receipt] = $held;
    }

    public function count(): int
    {
        return count($this->held);
    }

    /** @return list<Held> */
    public function all(): array
    {
        return array_values($this->held);
    }

    /** @return int|null when there is something to do, on the clock of Connection */
    public function nextAt(): ?int
    {
        $times = array_map(static fn (Held $held) => $held->isLeased() ? $held->renewAt : PHP_INT_MAX, $this->held);
        $next = $times === [] ? PHP_INT_MAX : max($this->renewAt, min($times));
        $next = $this->settleable() === [] ? $next : min($next, $this->settleAt);
        return $next === PHP_INT_MAX ? null : $next;
    }

    /** For how many milliseconds a request may keep the worker from noticing that a lease has ended. */
    public function patience(): int
    {
        $ends = array_map(static fn (Held $held) => $held->isRunning() ? $held->leaseEndsAt : PHP_INT_MAX, $this->held);
        return min($this->timeout, max(1, min([PHP_INT_MAX, ...array_values($ends)]) - Connection::now()));
    }

    /** Settles what is decided. */
    public function settle(): void
    {
        $now = Connection::now();
        foreach ($this->held as $receipt => $held) {
            if ($held->settlement !== null && !$held->isLeased()) {
                unset($this->held[$receipt]);
            }
        }
        if ($now < $this->settleAt || $this->settleable() === []) {
            return;
        }
        $this->settling ??= $this->toRequest(array_slice($this->settleable(), 0, self::MAX_BATCH));
        try {
            $answer = $this->transport->callOnce($this->settling, $this->patience());
            foreach ($answer->objects('results') as $result) {
                $this->settled($result);
            }
            $this->failures = 0;
        } catch (DelayQueueException $error) {
            $this->notSettled($error);
            return;
        }
        $this->settling = null;
    }

    /**
     * Renews the leases of which a third is over.
     *
     * @return list<Held> those that are lost
     */
    public function renew(): array
    {
        $now = Connection::now();
        $due = array_filter($this->held, static fn (Held $held) => $held->isLeased() && $held->renewAt <= $now);
        if ($due !== [] && $this->renewAt <= $now) {
            try {
                $request = Requests::extend(array_keys($due), $this->options->lease);
                foreach ($this->transport->callOnce($request, $this->patience())->objects('results') as $result) {
                    $this->renewed($result, $now);
                }
                $this->renewAt = 0;
            } catch (DelayQueueException $error) {
                if ($this->renewAt === 0) {
                    ($this->options->log)("Leases cannot be renewed, and it is tried again: {$error->getMessage()}");
                }
                $this->renewAt = Connection::now() + min(1_000, intdiv($this->options->lease, 10));
            }
        }
        return $this->takeLost();
    }

    /** What could not be settled comes again after its lease. */
    public function forget(): void
    {
        foreach ($this->held as $held) {
            $this->log($held, 'could not be settled, and comes again after its lease.');
        }
        $this->held = [];
        $this->settling = null;
    }

    private function renewed(Fields $result, int $at): void
    {
        $held = $this->held[$result->string('receipt')] ?? null;
        if ($result->enum('status', LeaseStatus::class) === LeaseStatus::Lost) {
            // Its settling may just have been done, and its answer lost.
            $at -= $held?->settlement === null ? $this->options->lease : 0;
        }
        $held?->renewed($at);
    }

    private function log(Held $held, string $what): void
    {
        ($this->options->log)("Message '{$held->message->id}' $what");
    }

    /** @return list<Held> */
    private function takeLost(): array
    {
        $now = Connection::now();
        $lost = array_filter(
            $this->held,
            static fn (Held $held) => $held->isRunning() && $held->leaseEndsAt <= $now,
        );
        $this->held = array_diff_key($this->held, $lost);
        return array_values($lost);
    }

    /** @return list<Held> */
    private function settleable(): array
    {
        return array_values(array_filter($this->held, static fn (Held $held) => $held->settlement !== null));
    }

    /** @param list<Held> $held */
    private function toRequest(array $held): Request
    {
        return Requests::settle(array_map(static fn (Held $one) => $one->settlement, $held));
    }

    private function settled(Fields $result): void
    {
        $receipt = $result->string('receipt');
        $held = $this->held[$receipt] ?? null;
        unset($this->held[$receipt]);
        if ($held !== null && $result->enum('status', SettleStatus::class) === SettleStatus::Stale) {
            $what = $held->settlement?->outcome === Outcome::Ack ? 'was handled' : 'has failed';
            $this->log($held, "$what, but its lease had ended or it was settled already.");
        }
    }

    private function notSettled(DelayQueueException $error): void
    {
        $passes = $error instanceof UnavailableException || ($error->status ?? 500) >= 500;
        $held = $this->settleable();
        if ($passes) {
            if ($this->failures === 0) {
                ($this->options->log)("Messages cannot be settled, and it is tried again: {$error->getMessage()}");
            }
            $this->settleAt = Connection::now() + Transport::pause(++$this->failures);
            return;
        }
        $this->settling = null;
        // One that the gateway refuses, such as for its delay, must not keep the others from being settled.
        foreach ($held as $one) {
            try {
                $answer = $this->transport->callOnce($this->toRequest([$one]), $this->patience());
                $this->settled($answer->objects('results')[0]);
            } catch (UnavailableException) {
                return;
            } catch (DelayQueueException $refusal) {
                unset($this->held[$one->receipt]);
                $this->log($one, "comes again after its lease. Settling it was refused: {$refusal->getMessage()}");
            }
        }
    }
}
