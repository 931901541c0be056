<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\InvalidArgumentException;

/** Times as PHP has them, and as the gateway takes them. */
final class Time
{
    private const UNITS = ['ms' => 1, 's' => 1_000, 'm' => 60_000, 'h' => 3_600_000, 'd' => 86_400_000];

    /** Milliseconds on a clock that nobody sets, and that all processes of a machine share. */
    public static function now(): int
    {
        return intdiv(hrtime(true), 1_000_000);
    }

    /** A duration for the gateway, which reads text itself, and says what is wrong with it. */
    public static function duration(string $name, int|string|\DateInterval|null $duration): int|string|null
    {
        if (!$duration instanceof \DateInterval) {
            return $duration;
        }
        // Months and years count from now, and days have 24 hours.
        $now = new \DateTimeImmutable('now', new \DateTimeZone('UTC'));
        $milliseconds = self::epoch($now->add($duration)) - self::epoch($now);
        return $milliseconds >= 0
            ? $milliseconds
            : throw InvalidArgumentException::because("$name must not be negative: give an interval that is not inverted.");
    }

    /** A duration that the client itself goes by. */
    public static function milliseconds(
        string $name,
        int|string|\DateInterval $value,
        int $min = 0,
        int $max = PHP_INT_MAX,
    ): int {
        $value = self::duration($name, $value);
        $milliseconds = is_int($value) ? $value : self::ofText($value);
        if ($milliseconds === null || $milliseconds < $min || $milliseconds > $max) {
            $range = $max === PHP_INT_MAX ? "of at least $min ms" : "of $min to $max ms";
            throw InvalidArgumentException::because(
                "$name must be a duration $range: whole milliseconds, text such as '30s' or '1h30m', or a DateInterval. " .
                    'Given: ' . json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE) . '.',
            );
        }
        return $milliseconds;
    }

    /** A moment as the gateway takes it: rounded up, so that nothing comes early. */
    public static function moment(\DateTimeInterface|int|string|null $moment): int|string|null
    {
        return $moment instanceof \DateTimeInterface ? self::epoch($moment) : $moment;
    }

    /** A moment as the gateway answers it; null: it is none. */
    public static function parse(string $text): ?\DateTimeImmutable
    {
        return \DateTimeImmutable::createFromFormat('Y-m-d\TH:i:s.vp', $text) ?: null;
    }

    private static function epoch(\DateTimeInterface $time): int
    {
        return $time->getTimestamp() * 1000 + (int) ceil((int) $time->format('u') / 1000);
    }

    /** null: it is no duration. */
    private static function ofText(string $text): ?int
    {
        if (preg_match('/^(\s*\d*\.?\d+\s*(ms|[smhd]))+\s*$/D', $text) !== 1) {
            return null;
        }
        preg_match_all('/([\d.]+)\s*(ms|[smhd])/', $text, $parts, PREG_SET_ORDER);
        $sum = array_sum(array_map(static fn ($part) => (float) $part[1] * self::UNITS[$part[2]], $parts));
        return $sum < PHP_INT_MAX ? (int) ceil($sum) : null;
    }
}
