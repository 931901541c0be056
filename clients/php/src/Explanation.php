<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Fields;

/** Why a message has not run, or what became of it. */
final class Explanation
{
    /**
     * @param string $cause such as 'not-due', 'running' or 'no-consumer'
     * @param list<string> $also what else would keep it
     * @param array<string, mixed> $facts what the explanation goes by
     * @param string $advice what it means and what to do, as sentences
     */
    private function __construct(
        public readonly string $cause,
        public readonly array $also,
        public readonly array $facts,
        public readonly string $advice,
    ) {
    }

    /** @internal */
    public static function from(Fields $fields): self
    {
        return new self(
            $fields->string('cause'),
            $fields->list('also'),
            $fields->map('facts'),
            $fields->string('advice'),
        );
    }
}
