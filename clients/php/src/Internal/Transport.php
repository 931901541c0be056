<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\ClientOptions;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\Internal\Http\Connection;
use NestjsDelayQueue\Internal\Http\ConnectionLostException;
use NestjsDelayQueue\Internal\Http\Origin;
use NestjsDelayQueue\Internal\Http\Request;
use NestjsDelayQueue\Internal\Http\Response;

/**
 * Sends requests, and repeats those that have failed for a reason that passes.
 *
 * @internal
 */
final class Transport
{
    /**
     * Statuses of what passes: too much at the moment, a gateway that ends or has no Redis, a proxy without a gateway.
     */
    public const PASSING = [429, 502, 503, 504];

    private const FIRST_WAIT = 100;
    private const LONGEST_WAIT = 2_000;

    /** Whoever asks for more patience gets none: the caller may have a browser waiting. */
    private const LONGEST_RETRY_AFTER = 10_000;

    private readonly Connection $connection;

    public function __construct(private readonly Origin $origin, private readonly ClientOptions $options)
    {
        $this->connection = $this->newConnection();
    }

    /** Another one to the same gateway, for requests that wait while this one is in use. */
    public function newConnection(): Connection
    {
        return new Connection($this->origin, $this->options);
    }

    /**
     * @param int $wait for how many milliseconds the gateway itself may wait
     * @throws DelayQueueException
     */
    public function call(Request $request, int $wait = 0): Fields
    {
        for ($tries = 1; true; $tries++) {
            $isLast = $tries > $this->options->retries;
            try {
                $response = $this->connection->send($request, $this->options->timeout + $wait);
                if ($isLast || !$this->isWorthAnother($response)) {
                    return self::read($response);
                }
                $pause = max(self::pause($tries), $response->retryAfter());
            } catch (ConnectionLostException $error) {
                if ($isLast) {
                    throw self::unreachable($error, $tries);
                }
                $pause = self::pause($tries);
            }
            usleep($pause * 1000);
        }
    }

    /**
     * A single try.
     *
     * @param int $timeout in milliseconds
     * @throws DelayQueueException
     */
    public function callOnce(Request $request, int $timeout): Fields
    {
        try {
            return self::read($this->connection->send($request, $timeout));
        } catch (ConnectionLostException $error) {
            throw self::unreachable($error, 1);
        }
    }

    public function disconnect(): void
    {
        $this->connection->close();
    }

    /** @throws DelayQueueException */
    public static function read(Response $response): Fields
    {
        if ($response->status >= 200 && $response->status < 300) {
            return new Fields($response->body === '' ? new \stdClass() : Json::decode($response->body));
        }
        throw Problem::ofResponse($response);
    }

    public static function unreachable(ConnectionLostException $error, int $tries): UnavailableException
    {
        $times = $tries === 1 ? 'tried once' : "tried $tries times";
        return new UnavailableException('GATEWAY_UNREACHABLE', "{$error->getMessage()} ($times).", null, $error);
    }

    /**
     * How long to wait before the next try, in milliseconds: at random, so that many clients do not come back at once.
     */
    public static function pause(int $tries): int
    {
        $longest = min(self::LONGEST_WAIT, self::FIRST_WAIT * 2 ** min($tries - 1, 10));
        return random_int(intdiv($longest * 3, 4), $longest);
    }

    private function isWorthAnother(Response $response): bool
    {
        return in_array($response->status, self::PASSING, true)
            && $response->retryAfter() <= self::LONGEST_RETRY_AFTER;
    }
}
