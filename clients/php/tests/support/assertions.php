<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Exception\DelayQueueException;

/** What a test says when something is not as it should be. */
final class Failed extends \Exception
{
}

function holds(bool $condition, string $what): void
{
    if (!$condition) {
        throw new Failed($what);
    }
}

/** Arrays and objects are compared by value, and in the order of their names; `1` is not `1.0`. */
function same(mixed $expected, mixed $actual, string $what): void
{
    if (show($expected) !== show($actual)) {
        throw new Failed("$what: expected " . show($expected) . ', got ' . show($actual));
    }
}

function show(mixed $value): string
{
    if ($value instanceof \DateTimeInterface) {
        return $value->format('Y-m-d\TH:i:s.vp');
    }
    if ($value instanceof \UnitEnum) {
        return $value::class . '::' . $value->name;
    }
    $text = (string) json_encode($value, JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION);
    return strlen($text) > 300 ? substr($text, 0, 300) . '… ' . md5($text) : $text;
}

/**
 * @template T of \Throwable
 * @param class-string<T> $class
 * @return T
 */
function throws(string $class, \Closure $call): \Throwable
{
    try {
        $call();
    } catch (\Throwable $error) {
        if ($error instanceof $class) {
            return $error;
        }
        throw new Failed("expected $class, got " . $error::class . ': ' . $error->getMessage());
    }
    throw new Failed("expected $class, and nothing was thrown");
}

/** @param class-string<DelayQueueException> $class */
function refused(string $class, string $code, ?int $status, \Closure $call): void
{
    $error = throws($class, $call);
    same([$code, $status], [$error->errorCode, $error->status], "the code and status of $class");
    holds($error->detail !== '', "$class has no detail");
}

/** Waits until something holds. */
function eventually(string $what, \Closure $condition, float $seconds = 90): void
{
    $until = microtime(true) + $seconds;
    while (!$condition()) {
        if (microtime(true) > $until) {
            throw new Failed("$what: not within $seconds s");
        }
        usleep(50_000);
    }
}
