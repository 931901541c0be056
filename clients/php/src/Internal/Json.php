<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\InvalidArgumentException;

/** JSON as it is sent and read. Objects are \stdClass, so that an empty one stays one. */
final class Json
{
    /** Deeper than what the gateway takes is likely to be. */
    private const DEPTH = 100_000;

    private const FLAGS = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;

    /**
     * @param array<string, mixed> $value
     * @throws InvalidArgumentException
     */
    public static function encode(array $value): string
    {
        try {
            return json_encode($value, self::FLAGS, self::DEPTH);
        } catch (\JsonException $error) {
            $detail = "What is to be sent cannot be JSON: {$error->getMessage()}. Texts must be UTF-8, and numbers finite.";
            throw new InvalidArgumentException('SERIALIZATION', $detail, null, $error);
        }
    }

    /** null: it is not JSON. What PHP refuses and other languages write is read: it must not keep others from being received. */
    public static function decode(string $text): mixed
    {
        $value = json_decode($text, false, self::DEPTH);
        return match (json_last_error()) {
            JSON_ERROR_UTF16 => self::decode(self::withoutHalfCharacters($text)),
            JSON_ERROR_INVALID_PROPERTY_NAME => json_decode($text, true, self::DEPTH),
            default => $value,
        };
    }

    /**
     * The fields that were given: what is null was left out.
     *
     * @param array<string, mixed> $fields
     * @return array<string, mixed>
     */
    public static function given(array $fields): array
    {
        return array_filter($fields, static fn ($value) => $value !== null);
    }

    /** Text of errors, which may be cut within a character or be no UTF-8 at all. */
    public static function cleanText(string $text, int $length): string
    {
        return json_decode(json_encode(substr($text, 0, $length), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR));
    }

    /** Half of a UTF-16 pair, as a text has that JavaScript has cut within an emoji. */
    private static function withoutHalfCharacters(string $text): string
    {
        $pair = 'u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}';
        return (string) preg_replace_callback(
            "/\\\\(?:$pair|(?<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/s",
            static fn (array $escape) => isset($escape['half']) ? '\ufffd' : $escape[0],
            $text,
        );
    }
}
