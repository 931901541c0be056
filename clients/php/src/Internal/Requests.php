<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Http\Request;
use NestjsDelayQueue\Settlement;

/**
 * Requests as the gateway takes them.
 *
 * @internal
 */
final class Requests
{
    public static function get(string $path): Request
    {
        return new Request('GET', $path);
    }

    /**
     * One that the gateway does only once, however often it arrives.
     *
     * @param array<string, mixed>|null $body
     */
    public static function once(string $method, string $path, ?array $body = null): Request
    {
        return new Request($method, $path, $body === null ? null : Json::encode($body), bin2hex(random_bytes(16)));
    }

    /**
     * One that may be done twice.
     *
     * @param array<string, mixed>|null $body
     */
    public static function repeatable(string $method, string $path, ?array $body = null): Request
    {
        return new Request($method, $path, $body === null ? null : Json::encode($body));
    }

    /**
     * @param string|list<string> $topics
     * @throws InvalidArgumentException
     */
    public static function receive(string|array $topics, int $max, int $wait, ?int $lease): Request
    {
        $body = ['max' => $max, 'wait' => $wait, ...($lease === null ? [] : ['lease' => $lease])];
        if (is_array($topics)) {
            return self::repeatable('POST', '/v1/receive', ['topics' => array_values($topics), ...$body]);
        }
        return self::repeatable('POST', self::topic($topics) . '/receive', $body);
    }

    /**
     * @param list<Settlement> $settlements
     * @throws InvalidArgumentException
     */
    public static function settle(array $settlements): Request
    {
        $fields = array_map(static fn (Settlement $settlement) => $settlement->toFields(), $settlements);
        return self::once('POST', '/v1/settle', ['settlements' => $fields]);
    }

    /** @param list<string> $receipts */
    public static function extend(array $receipts, int|string $lease): Request
    {
        $extensions = array_map(static fn (string $receipt) => ['receipt' => $receipt, 'lease' => $lease], $receipts);
        return self::repeatable('POST', '/v1/extend', ['extensions' => $extensions]);
    }

    public static function topic(string $topic): string
    {
        return '/v1/topics/' . rawurlencode($topic);
    }

    public static function message(string $topic, string $id, ?string $key, string $rest = ''): string
    {
        $query = $key === null ? '' : '?key=' . rawurlencode($key);
        return self::topic($topic) . '/messages/' . rawurlencode($id) . $rest . $query;
    }

    public static function schedule(string $id, string $rest = ''): string
    {
        return '/v1/schedules/' . rawurlencode($id) . $rest;
    }
}
