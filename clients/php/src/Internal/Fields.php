<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\DelayQueueException;

/**
 * Reads the fields of an object that the gateway has answered.
 *
 * @internal
 */
final class Fields
{
    /** @var array<array-key, mixed> */
    private readonly array $fields;

    public function __construct(mixed $object)
    {
        if (!$object instanceof \stdClass && !is_array($object)) {
            throw self::unexpected('an object');
        }
        $this->fields = (array) $object;
    }

    public function has(string $name): bool
    {
        return isset($this->fields[$name]);
    }

    public function string(string $name): string
    {
        return $this->optionalString($name) ?? throw self::unexpected("text as '$name'");
    }

    public function optionalString(string $name): ?string
    {
        $value = $this->fields[$name] ?? null;
        return $value === null || is_string($value) ? $value : throw self::unexpected("text as '$name'");
    }

    public function int(string $name): int
    {
        return $this->optionalInt($name) ?? throw self::unexpected("an integer as '$name'");
    }

    public function optionalInt(string $name): ?int
    {
        $value = $this->fields[$name] ?? null;
        return $value === null || is_int($value) ? $value : throw self::unexpected("an integer as '$name'");
    }

    public function bool(string $name): bool
    {
        $value = $this->fields[$name] ?? null;
        return is_bool($value) ? $value : throw self::unexpected("a boolean as '$name'");
    }

    public function time(string $name): \DateTimeImmutable
    {
        return $this->optionalTime($name) ?? throw self::unexpected("a time as '$name'");
    }

    public function optionalTime(string $name): ?\DateTimeImmutable
    {
        $text = $this->optionalString($name);
        try {
            return $text === null ? null : Time::parse($text);
        } catch (\ValueError) {
            throw self::unexpected("a time as '$name'");
        }
    }

    /**
     * @template T of \BackedEnum
     * @param class-string<T> $enum
     * @return T
     */
    public function enum(string $name, string $enum): \BackedEnum
    {
        $value = $this->string($name);
        return $enum::tryFrom($value) ?? throw self::unexpected("another '$name' than '$value'");
    }

    public function payload(string $name, bool $asArrays): mixed
    {
        $value = $this->fields[$name] ?? null;
        return $asArrays ? Json::toArrays($value) : $value;
    }

    public function object(string $name): self
    {
        return new self($this->fields[$name] ?? null);
    }

    public function optionalObject(string $name): ?\stdClass
    {
        $value = $this->fields[$name] ?? null;
        return $value === null ? null : (object) (array) $value;
    }

    /** @return array<string, mixed> */
    public function map(string $name): array
    {
        $value = $this->fields[$name] ?? null;
        $isObject = $value instanceof \stdClass || is_array($value);
        return $isObject ? (array) $value : throw self::unexpected("an object as '$name'");
    }

    /** @return array<string, string> */
    public function strings(string $name): array
    {
        return array_map(strval(...), $this->map($name));
    }

    /** @return list<mixed> */
    public function list(string $name): array
    {
        $value = $this->fields[$name] ?? null;
        return is_array($value) && array_is_list($value) ? $value : throw self::unexpected("a list as '$name'");
    }

    /** @return list<self> */
    public function objects(string $name): array
    {
        return array_map(static fn ($object) => new self($object), $this->list($name));
    }

    private static function unexpected(string $what): DelayQueueException
    {
        $detail = "The gateway was expected to answer with $what. Is it of a version that this client knows?";
        return new DelayQueueException('INVALID_RESPONSE', $detail);
    }
}
