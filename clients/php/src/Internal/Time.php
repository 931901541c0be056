<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\LocalTime;

/**
 * Times as PHP has them, and as the gateway takes them.
 *
 * @internal
 */
final class Time
{
    /** The names of the units, as the gateway knows them too, and their milliseconds. */
    private const UNITS = [
        'ms|msecs?|milliseconds?' => 1,
        's|secs?|seconds?' => 1_000,
        'm|mins?|minutes?' => 60_000,
        'h|hrs?|hours?' => 3_600_000,
        'd|days?' => 86_400_000,
        'w|weeks?' => 604_800_000,
        'y|yrs?|years?' => 31_557_600_000,
    ];

    /** Text stays as it is: the gateway reads it, and says what is wrong with it. */
    public static function duration(string $name, int|string|\DateInterval $duration): int|string
    {
        return $duration instanceof \DateInterval ? self::ofInterval($name, $duration) : $duration;
    }

    public static function optionalDuration(string $name, int|string|\DateInterval|null $duration): int|string|null
    {
        return $duration === null ? null : self::duration($name, $duration);
    }

    /**
     * A duration that the client itself goes by.
     *
     * @throws InvalidArgumentException
     */
    public static function milliseconds(string $name, int|string|\DateInterval $duration): int
    {
        $value = self::duration($name, $duration);
        $milliseconds = is_int($value) ? $value : self::ofText($value);
        if ($milliseconds === null || $milliseconds < 0) {
            throw InvalidArgumentException::because(
                "$name must be a duration of at least 0: milliseconds as an integer, a number with a unit, such as " .
                    "'30s' or '1h30m', or a DateInterval. Given: " .
                    json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE) . '.',
            );
        }
        return $milliseconds;
    }

    /**
     * A moment as the gateway takes it. Rounded up to whole milliseconds, so that nothing comes early.
     *
     * @return array<string, string>|int|string|null
     */
    public static function optionalMoment(\DateTimeInterface|LocalTime|int|string|null $moment): array|int|string|null
    {
        if ($moment instanceof LocalTime) {
            return ['local' => $moment->local, 'timeZone' => $moment->timeZone];
        }
        return $moment instanceof \DateTimeInterface ? self::epochMilliseconds($moment) : $moment;
    }

    /** @throws \ValueError if it is not a time */
    public static function parse(string $text): \DateTimeImmutable
    {
        $time = \DateTimeImmutable::createFromFormat('Y-m-d\TH:i:s.vp', $text);
        return $time === false ? throw new \ValueError('not a time') : $time;
    }

    /** Months and years count from now. Days have 24 hours. */
    private static function ofInterval(string $name, \DateInterval $interval): int
    {
        $now = new \DateTimeImmutable('now', new \DateTimeZone('UTC'));
        $milliseconds = self::epochMilliseconds($now->add($interval)) - self::epochMilliseconds($now);
        if ($milliseconds < 0) {
            throw InvalidArgumentException::because(
                "$name must not be negative: give an interval that is not inverted.",
            );
        }
        return $milliseconds;
    }

    private static function epochMilliseconds(\DateTimeInterface $time): int
    {
        return $time->getTimestamp() * 1000 + (int) ceil((int) $time->format('u') / 1000);
    }

    /** null: it is no duration. */
    private static function ofText(string $text): ?int
    {
        $sum = 0.0;
        $count = preg_match_all('/\G\s*(\d*\.?\d+)\s*([a-z]+)\s*/i', $text, $parts, PREG_SET_ORDER);
        foreach ($parts as [, $number, $unit]) {
            $sum += (float) $number * (self::lengthOf($unit) ?? NAN);
        }
        $isAll = strlen(implode(array_column($parts, 0))) === strlen($text);
        return $count > 0 && $isAll && $sum < PHP_INT_MAX ? (int) ceil($sum) : null;
    }

    private static function lengthOf(string $unit): ?int
    {
        foreach (self::UNITS as $names => $length) {
            // A capital M could mean months.
            if ($unit !== 'M' && preg_match("/^(?:$names)$/i", $unit) === 1) {
                return $length;
            }
        }
        return null;
    }
}
