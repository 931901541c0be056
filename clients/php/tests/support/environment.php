<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\ReceivedMessage;

function variable(string $name): string
{
    $value = getenv($name);
    return is_string($value) && $value !== '' ? $value : throw new Failed("the environment variable $name is not set");
}

/** A client of the gateway, by default of the one that works. */
function client(string $url = 'GATEWAY_URL', string $token = 'GATEWAY_TOKEN', mixed ...$options): DelayQueue
{
    return new DelayQueue(variable($url), variable($token), ...$options);
}

/** @param int $number 1 to 60 */
function topic(int $number): string
{
    return sprintf('%s.%02d', variable('GATEWAY_TOPIC_PREFIX'), $number);
}

/** Milliseconds that it has taken. */
function duration(\Closure $call): float
{
    $start = hrtime(true);
    $call();
    return (hrtime(true) - $start) / 1e6;
}

/** Receives the next message, which is due, or will be soon. On a busy machine that may take a while. */
function receiveOne(DelayQueue $queue, string $topic, int|string $lease = '90s'): ReceivedMessage
{
    $messages = [];
    eventually("a message of $topic", function () use ($queue, $topic, $lease, &$messages): bool {
        $messages = $queue->receive($topic, wait: '5s', lease: $lease);
        return $messages !== [];
    });
    return $messages[0];
}

/**
 * Receives and settles so many.
 *
 * @param string|list<string> $topics
 * @return list<mixed> their payloads
 */
function receiveAll(string|array $topics, int $count): array
{
    $queue = client();
    $payloads = [];
    eventually("$count messages", function () use ($queue, $topics, $count, &$payloads): bool {
        $messages = $queue->receive($topics, max: 10, wait: '1s', lease: '90s');
        array_walk($messages, static fn (ReceivedMessage $message) => $message->ack());
        $payloads = [...$payloads, ...array_map(static fn ($message) => $message->payload, $messages)];
        return count($payloads) >= $count;
    });
    return $payloads;
}
