<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\InvalidArgumentException;

/**
 * JSON as it is sent and read. Objects are \stdClass, so that an empty one stays one.
 *
 * @internal
 */
final class Json
{
    /** Deeper than any document that the gateway takes is likely to be. */
    private const DEPTH = 100_000;

    private const FLAGS = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;

    /**
     * @param array<string, mixed>|\stdClass $value
     * @throws InvalidArgumentException
     */
    public static function encode(array|\stdClass $value): string
    {
        try {
            return json_encode($value, self::FLAGS, self::DEPTH);
        } catch (\JsonException $error) {
            $detail = "What is to be sent cannot be written as JSON: {$error->getMessage()}. " .
                'Texts must be UTF-8, and numbers finite.';
            throw new InvalidArgumentException('SERIALIZATION', $detail, null, $error);
        }
    }

    /** @throws DelayQueueException if it is not JSON */
    public static function decode(string $text): mixed
    {
        try {
            return json_decode($text, false, self::DEPTH, JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            return match ($error->getCode()) {
                // Other languages write what PHP refuses: a message with it must not keep others from being received.
                JSON_ERROR_UTF16 => self::decode(self::withoutLoneSurrogates($text)),
                JSON_ERROR_INVALID_PROPERTY_NAME => self::asObject(json_decode($text, true, self::DEPTH)),
                default => throw self::unreadable('The answer is not JSON. Is this the address of a gateway?', $error),
            };
        }
    }

    /** The same with arrays in place of objects. */
    public static function toArrays(mixed $value): mixed
    {
        if ($value instanceof \stdClass) {
            $value = (array) $value;
        }
        return is_array($value) ? array_map(self::toArrays(...), $value) : $value;
    }

    /** Text of errors, which may be cut within a character or be no UTF-8 at all. */
    public static function cleanText(string $text, int $length): string
    {
        return json_decode(json_encode(substr($text, 0, $length), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR));
    }

    private static function asObject(mixed $value): mixed
    {
        return is_array($value) ? (object) $value : $value;
    }

    private static function withoutLoneSurrogates(string $text): string
    {
        $pair = 'u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}';
        $replaced = preg_replace_callback(
            "/\\\\(?:(?<pair>$pair)|(?<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/s",
            static fn (array $escape) => ($escape['lone'] ?? '') === '' ? $escape[0] : '\ufffd',
            $text,
        );
        return $replaced ?? throw self::unreadable('The answer has text that is no Unicode.');
    }

    private static function unreadable(string $detail, ?\Throwable $previous = null): DelayQueueException
    {
        return new DelayQueueException('INVALID_RESPONSE', $detail, null, $previous);
    }
}
