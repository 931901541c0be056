<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Exception\{DelayQueueException, InvalidArgumentException, RetryLaterException, UnrecoverableException};
use NestjsDelayQueue\Internal\{Json, Transport};
use NestjsDelayQueue\{ReceivedMessage, Settlement, SettleStatus, Worker};

/**
 * What a child does: it receives one message after the other, has it handled, and settles it. A gateway that is away is
 * asked again.
 *
 * SIGTERM and SIGINT end it only while it waits for a message, since PHP's HTTP streams cannot be told to end a wait. At
 * any other time they are blocked, and end it before it asks for the next one.
 */
final class Loop
{
    /** After so many messages the process is replaced, so that what handlers leave in memory is freed. */
    private const MOST = 1_000;

    /** How long a message is put off if nobody can say for how long, in milliseconds. */
    private const UNKNOWN_DELAY = 30_000;

    /** Longest text about an error in a log, in bytes. */
    private const LONGEST_TEXT = 4_096;

    /**
     * @param int $parent the process of the worker
     * @param \Closure(string, string|int|null...): void $tell is told what happens: 'begun' with the id and receipt of a
     *     message, then 'handled', then 'settled'; 'log' with a sentence; 'away' with what is wrong with the gateway,
     *     then 'back'; 'stop' if the handler has stopped the worker
     */
    public function __construct(
        private readonly Worker $worker,
        private readonly int $parent,
        private readonly \Closure $tell,
    ) {}

    /** @throws DelayQueueException if the gateway refuses to give messages */
    public function run(): void
    {
        foreach (Worker::SIGNALS as $signal) {
            pcntl_signal($signal, SIG_DFL);
        }
        for ($handled = 0; $handled < self::MOST && ($message = $this->receive()) !== null; $handled++) {
            if ($this->isOrphan()) {
                $this->settle($message, Settlement::release($message->receipt));
                return;
            }
            ($this->tell)('begun', $message->id, $message->receipt);
            $settlement = self::outcome($this->worker->handler, $message);
            ($this->tell)('handled');
            if ($settlement->reason instanceof \Throwable) {
                $why = Json::cleanText((string) $settlement->reason, self::LONGEST_TEXT);
                ($this->tell)('log', "The handler has failed for message '$message->id', attempt $message->attempt: $why");
            }
            $this->settle($message, $settlement);
            ($this->tell)('settled');
            if ($this->worker->isStopping()) {
                ($this->tell)('stop');
                return;
            }
        }
    }

    /**
     * What is to become of a message that a handler is given.
     *
     * @param \Closure(ReceivedMessage): mixed $handler
     */
    public static function outcome(\Closure $handler, ReceivedMessage $message): Settlement
    {
        try {
            self::check($handler($message));
            return Settlement::ack($message->receipt);
        } catch (UnrecoverableException $error) {
            return Settlement::dead($message->receipt, $error);
        } catch (RetryLaterException $error) {
            return Settlement::release($message->receipt, $error->delay);
        } catch (\Throwable $error) {
            return Settlement::retry($message->receipt, $error);
        }
    }

    /** @throws \UnexpectedValueException if it is what has still to be run, by nobody */
    private static function check(mixed $result): void
    {
        $isPromise = is_object($result) && (method_exists($result, 'then') || method_exists($result, 'await'));
        if ($result instanceof \Generator || $isPromise) {
            $what = 'The handler has returned a ' . $result::class . ', which is not done.';
            throw new \UnexpectedValueException("$what Run it to its end within the handler, such as by iterator_to_array() or wait().");
        }
    }

    /** null: the worker is gone. */
    private function receive(): ?ReceivedMessage
    {
        $worker = $this->worker;
        $log = fn (string $line) => ($this->tell)('log', $line);
        for ($failures = 0; !$this->isOrphan(); ) {
            pcntl_sigprocmask(SIG_UNBLOCK, Worker::SIGNALS);
            try {
                $messages = $worker->queue
                    ->receiveFor(0, $worker->topics, 1, $worker->wait, $worker->lease, $worker->consumer, $log);
                pcntl_sigprocmask(SIG_BLOCK, Worker::SIGNALS);
                ($this->tell)('back');
                $failures = 0;
                if ($messages !== []) {
                    return $messages[0];
                }
            } catch (DelayQueueException $error) {
                if (!Transport::mayPass($error)) {
                    throw $error;
                }
                ($this->tell)('away', $error->getMessage());
                usleep(Transport::pauseAfter(++$failures, $error) * 1000);
            } finally {
                pcntl_sigprocmask(SIG_BLOCK, Worker::SIGNALS);
            }
        }
        return null;
    }

    private function settle(ReceivedMessage $message, Settlement $settlement): void
    {
        try {
            // For as long as the message is this worker's, and the gateway knows the key of the request.
            [$status] = $this->worker->queue->settleFor(min($this->worker->lease, 100_000), [$settlement]);
            if ($status === SettleStatus::Stale) {
                $why = "was not settled ($settlement->outcome): its lease had ended, or it was settled already";
                ($this->tell)('log', "Message '$message->id' $why.");
            }
        } catch (DelayQueueException $error) {
            if ($error instanceof InvalidArgumentException && $settlement->delay !== null) {
                ($this->tell)('log', "Message '$message->id' is put off by 30 s, since its handler gave no delay: $error->detail");
                $this->settle($message, Settlement::release($message->receipt, self::UNKNOWN_DELAY));
            } else {
                $why = "comes again after its lease: it could not be settled ({$error->getMessage()})";
                ($this->tell)('log', "Message '$message->id' $why.");
            }
        }
    }

    /** Whether the worker is gone, and nobody renews a lease. */
    private function isOrphan(): bool
    {
        return posix_getppid() !== $this->parent;
    }
}
