<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\InvalidArgumentException;

/** JSON as it is sent and read. Objects are \stdClass, so that an empty one stays one. */
final class Json
{
    /** Deeper than what the gateway hands out is likely to be. */
    private const DEPTH = 10_000;

    /** How deep the object of a message is in the answer to a receive. */
    private const DEPTH_OF_MESSAGE = 3;

    /** Whole numbers have their digits up to here; of greater ones JavaScript has only some. */
    private const LARGEST_EXACT = 2 ** 53;

    private const FLAGS = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;

    /**
     * @param array<string, mixed> $value
     * @throws InvalidArgumentException
     */
    public static function encode(array $value): string
    {
        try {
            $text = json_encode($value, self::FLAGS, self::DEPTH);
        } catch (\JsonException $error) {
            $detail = "What is to be sent cannot be JSON: {$error->getMessage()}. Texts must be UTF-8, and numbers finite.";
            throw new InvalidArgumentException('SERIALIZATION', $detail, null, $error);
        }
        // Texts may look like such numbers, too, so the values have to be looked at then: as they are sent.
        if (preg_match('/\d{16}|-0(?![.\d])/', $text) === 1) {
            // PHP reads -0 as 0, and -0.0 as it is.
            self::checkNumbers(json_decode(preg_replace('/-0(?![.\d])/', '-0.0', $text), false, self::DEPTH), '');
        }
        return $text;
    }

    /** null: it is not JSON. What PHP refuses and other languages write is read: it must not keep others from being received. */
    public static function decode(string $text): mixed
    {
        $value = json_decode($text, false, self::DEPTH);
        return match (json_last_error()) {
            JSON_ERROR_UTF16 => self::decode(self::withoutHalfCharacters($text)),
            JSON_ERROR_INVALID_PROPERTY_NAME => json_decode($text, true, self::DEPTH),
            // The parser has no room for what is nested deeply, and calls that an error of syntax.
            JSON_ERROR_DEPTH, JSON_ERROR_SYNTAX => str_starts_with($text, '{"messages":[{') ? self::readApart($text) : null,
            default => $value,
        };
    }

    /** Each message of the answer to a receive by itself, since one keeps the whole from being read; null: it is not JSON. */
    private static function readApart(string $text): ?\stdClass
    {
        $messages = array_map(self::messageOf(...), self::split($text));
        return $messages === [] || in_array(null, $messages, true) ? null : (object) ['messages' => $messages];
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

    /** @throws InvalidArgumentException if there is a number that would arrive as another one */
    private static function checkNumbers(mixed $value, string $place): void
    {
        if (is_array($value) || $value instanceof \stdClass) {
            foreach ((array) $value as $name => $inner) {
                self::checkNumbers($inner, $place . (is_array($value) ? "[$name]" : ($place === '' ? '' : '.') . $name));
            }
        } elseif ((is_int($value) || is_float($value)) && !self::arrives($value)) {
            $given = json_encode($value);
            throw InvalidArgumentException::because(
                "The number at '$place' would arrive as another one, since JavaScript has none like it: give it as text. " .
                    "Given: $given.",
            );
        }
    }

    /** Whether its digits are the same after JavaScript has read and written it. */
    private static function arrives(int|float $number): bool
    {
        if (is_float($number)) {
            return $number !== 0.0 || fdiv(1, $number) > 0;
        }
        if ($number >= -self::LARGEST_EXACT && $number <= self::LARGEST_EXACT) {
            return true;
        }
        // As many digits as it takes to tell it from other doubles, and then zeros, as JavaScript has it.
        for ($precision = 14; $precision < 17; $precision++) {
            $text = sprintf("%.{$precision}e", (float) $number);
            if ((float) $text === (float) $number) {
                [$mantissa, $exponent] = explode('e', $text);
                return rtrim(str_replace('.', '', $mantissa), '0') === rtrim((string) $number, '0')
                    && (int) $exponent === strlen(ltrim((string) $number, '-')) - 1;
            }
        }
        return false;
    }

    /**
     * Each message of the answer to a receive, as it is, and without its deepest value, which is its payload.
     *
     * @return list<array{string, string}> none: it was cut off
     */
    private static function split(string $text): array
    {
        $messages = [];
        $depth = $deepest = $most = $start = $inner = $begin = $end = 0;
        preg_match_all('/"(?:[^"\\\\]|\\\\.)*+"(*SKIP)(*FAIL)|[\[{]|[\]}]/s', $text, $brackets, PREG_OFFSET_CAPTURE);
        foreach ($brackets[0] as [$bracket, $at]) {
            $isOpening = $bracket === '[' || $bracket === '{';
            $depth += $isOpening ? 1 : -1;
            $deepest = max($deepest, $depth);
            if ($isOpening && $depth === self::DEPTH_OF_MESSAGE) {
                [$start, $most] = [$at, 0];
            } elseif ($isOpening && $depth === self::DEPTH_OF_MESSAGE + 1) {
                [$inner, $deepest] = [$at, $depth];
            } elseif (!$isOpening && $depth === self::DEPTH_OF_MESSAGE && $deepest > $most) {
                [$most, $begin, $end] = [$deepest, $inner, $at + 1];
            } elseif (!$isOpening && $depth === self::DEPTH_OF_MESSAGE - 1) {
                $before = substr($text, $start, $begin - $start);
                $messages[] = [substr($text, $start, $at + 1 - $start), $before . 'null' . substr($text, $end, $at + 1 - $end)];
            }
        }
        return $depth === 0 ? $messages : [];
    }

    /** @param array{string, string} $texts as it is, and without its payload */
    private static function messageOf(array $texts): ?\stdClass
    {
        $message = self::decode($texts[0]);
        if ($message !== null) {
            return (object) (array) $message;
        }
        $message = self::decode($texts[1]);
        return $message === null ? null : (object) [...(array) $message, 'payload' => Unreadable::Payload];
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
