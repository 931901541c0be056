<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Http\Connection;
use NestjsDelayQueue\Internal\Http\ConnectionLostException;
use NestjsDelayQueue\Internal\Http\Response;
use NestjsDelayQueue\Internal\Requests;
use NestjsDelayQueue\Internal\Transport;
use NestjsDelayQueue\WorkerOptions;

/**
 * A request that waits for messages, while its worker does other things.
 *
 * @internal
 */
final class Poll
{
    private readonly Connection $connection;
    private bool $isWaiting = false;

    /** When an answer is overdue, and when to ask again after a failure. */
    private int $deadline = 0;
    private int $nextAt = 0;
    private int $failures = 0;

    /**
     * @param string|list<string> $topics
     * @param int $timeout for how long the answer may take beyond the wait, in milliseconds
     */
    public function __construct(
        Transport $transport,
        private readonly string|array $topics,
        private readonly WorkerOptions $options,
        private readonly int $timeout,
    ) {
        $this->connection = $transport->newConnection();
    }

    /**
     * Asks, if it does not wait already and is not to leave the gateway in peace for now.
     *
     * @param int $max most messages
     * @param int $patience longest time to connect, in milliseconds
     */
    public function start(int $max, int $patience): void
    {
        if ($this->isWaiting || Connection::now() < $this->nextAt) {
            return;
        }
        try {
            $request = Requests::receive($this->topics, $max, $this->options->wait, $this->options->lease);
            $this->connection->begin($request, $patience);
            $this->isWaiting = true;
            $this->deadline = Connection::now() + $this->options->wait + $this->timeout;
        } catch (ConnectionLostException $error) {
            $this->failed(Transport::unreachable($error, 1));
        }
    }

    /**
     * The messages that have come.
     *
     * @return list<\stdClass> as they were answered
     * @throws DelayQueueException if asking again cannot help
     */
    public function collect(): array
    {
        if (!$this->isWaiting) {
            return [];
        }
        try {
            $response = $this->connection->advance();
            if ($response === null && Connection::now() < $this->deadline) {
                return [];
            }
            $this->isWaiting = false;
            if ($response === null) {
                $this->connection->close();
                throw new ConnectionLostException('There was no answer in time');
            }
            return $this->messagesOf($response);
        } catch (ConnectionLostException $error) {
            $this->isWaiting = false;
            // The gateway has ended an idle connection: a new one may work at once.
            if (!$error->wasReused) {
                $this->failed(Transport::unreachable($error, 1));
            }
            return [];
        }
    }

    /**
     * Ends the waiting. The gateway then releases what it was about to answer.
     *
     * @return list<\stdClass> what has come already
     * @throws DelayQueueException
     */
    public function stop(): array
    {
        $messages = $this->collect();
        while ($this->isWaiting && $this->connection->isAnswered()) {
            usleep(1000);
            $messages = $this->collect();
        }
        $this->isWaiting = false;
        $this->connection->close();
        return $messages;
    }

    /** Closes the connection, so that processes that are forked now have no part in it. */
    public function disconnect(): void
    {
        if (!$this->isWaiting) {
            $this->connection->close();
        }
    }

    public function isWaiting(): bool
    {
        return $this->isWaiting;
    }

    /** When there is something to do for it, on the clock of Connection; null: not before it is answered. */
    public function nextAt(): int
    {
        return $this->isWaiting ? $this->deadline : $this->nextAt;
    }

    public function connection(): Connection
    {
        return $this->connection;
    }

    /** @return list<\stdClass> */
    private function messagesOf(Response $response): array
    {
        try {
            $messages = Transport::read($response)->list('messages');
        } catch (DelayQueueException $error) {
            if ($response->status < 500 && $response->status !== 429) {
                throw $error;
            }
            $this->failed($error, $response->retryAfter());
            return [];
        }
        if ($this->failures > 0) {
            ($this->options->log)('The gateway answers again.');
        }
        $this->failures = 0;
        return array_map(static fn ($message) => (object) $message, $messages);
    }

    private function failed(DelayQueueException $error, int $retryAfter = 0): void
    {
        if ($this->failures === 0) {
            ($this->options->log)("No messages can be received, and it is tried again: {$error->getMessage()}");
        }
        $this->nextAt = Connection::now() + max(Transport::pause(++$this->failures), $retryAfter);
    }
}
