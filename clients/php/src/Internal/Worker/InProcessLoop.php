<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Http\Connection;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\WorkerOptions;

/**
 * The work of a worker whose only handler runs in this process.
 *
 * @internal
 */
final class InProcessLoop
{
    private readonly Poll $poll;
    private readonly Keeper $keeper;

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
        $this->poll = new Poll($queue->transport(), $topics, $options, $queue->options->timeout);
        $this->keeper = new Keeper($queue->transport(), $options, $queue->options->timeout);
    }

    /** @throws DelayQueueException if asking for messages cannot help */
    public function run(): void
    {
        while (!$this->signals->isStopping()) {
            $this->poll->start(1, $this->keeper->patience());
            foreach ($this->poll->collect() as $message) {
                $this->handle($message);
            }
            $this->wait();
        }
        foreach ($this->poll->stop() as $message) {
            $held = new Held($message, $this->options->lease, Connection::now());
            $this->settle($held, Settlement::release($held->receipt));
        }
    }

    private function handle(\stdClass $message): void
    {
        $held = new Held($message, $this->options->lease, Connection::now());
        $received = ReceivedMessage::from(new Fields($message), $this->queue);
        $this->settle($held, HandlerCall::outcome($this->handler, $received));
    }

    /** Until it is answered; after the lease it comes again, and is handled again. */
    private function settle(Held $held, Settlement $settlement): void
    {
        $held->settlement = $settlement;
        $this->keeper->add($held);
        $this->keeper->settle();
        $giveUpAt = max($held->leaseEndsAt, Connection::now() + $this->queue->options->timeout);
        while ($this->keeper->count() > 0 && Connection::now() < $giveUpAt) {
            usleep(50_000);
            $this->keeper->settle();
        }
        $this->keeper->forget();
    }

    private function wait(): void
    {
        if (!$this->poll->isWaiting()) {
            usleep(max(0, min(200, $this->poll->nextAt() - Connection::now())) * 1000);
            return;
        }
        $read = [$this->poll->connection()->stream()];
        $write = $this->poll->connection()->isSending() ? $read : [];
        $except = null;
        // A signal ends it early, and PHP warns of that.
        @stream_select($read, $write, $except, 0, 500_000);
    }
}
