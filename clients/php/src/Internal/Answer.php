<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\DelayQueueException;

/** An object that the gateway has answered. */
final class Answer
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

    /**
     * The same as a value: each parameter of its constructor gets the field of its name. One that may be null may be
     * missing.
     *
     * @template T of object
     * @param class-string<T> $class
     * @param array<string, mixed> $arguments what is no field
     * @return T
     */
    public function as(string $class, array $arguments = []): object
    {
        foreach ((new \ReflectionClass($class))->getConstructor()?->getParameters() ?? [] as $parameter) {
            $name = $parameter->getName();
            $arguments[$name] ??= $this->typed($name, $parameter->getType());
        }
        try {
            return new $class(...$arguments);
        } catch (\TypeError $error) {
            throw self::unexpected("other fields ({$error->getMessage()})");
        }
    }

    /**
     * @template T of \BackedEnum
     * @param class-string<T> $enum
     * @return T
     */
    public function enum(string $name, string $enum): \BackedEnum
    {
        $value = $this->field($name);
        return (is_string($value) ? $enum::tryFrom($value) : null) ?? throw self::unexpected("another '$name'");
    }

    /** @return list<mixed> */
    public function list(string $name): array
    {
        $value = $this->field($name);
        return is_array($value) && array_is_list($value) ? $value : throw self::unexpected("a list as '$name'");
    }

    /** @return list<self> */
    public function objects(string $name): array
    {
        return array_map(static fn ($object) => new self($object), $this->list($name));
    }

    /** null: it has no such field. */
    public function field(string $name): mixed
    {
        return $this->fields[$name] ?? null;
    }

    /** What does not fit stays as it is, and the constructor refuses it. */
    private function typed(string $name, ?\ReflectionType $type): mixed
    {
        $value = $this->field($name);
        $class = $type instanceof \ReflectionNamedType ? $type->getName() : 'mixed';
        return match (true) {
            $class === 'array' && $value instanceof \stdClass => (array) $value,
            $class === \stdClass::class && is_array($value) => (object) $value,
            $class === 'int' && is_float($value) => (int) $value,
            $class === \DateTimeImmutable::class && is_string($value) => Time::parse($value) ?? $value,
            is_subclass_of($class, \BackedEnum::class) => $this->enum($name, $class),
            default => $value,
        };
    }

    private static function unexpected(string $what): DelayQueueException
    {
        $detail = "The gateway was expected to answer with $what. Is this its address, and a version that this client knows?";
        return new DelayQueueException('UNEXPECTED_ANSWER', $detail);
    }
}
