<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Why a message has not run, or what became of it. */
final class Explanation
{
    /**
     * @param string $cause such as 'not-due', 'running' or 'no-consumer'
     * @param list<string> $also what else would keep it
     * @param string $advice what it means and what to do, as sentences
     * @param array<string, mixed> $facts what the explanation goes by
     */
    public function __construct(
        public readonly string $cause,
        public readonly array $also,
        public readonly string $advice,
        public readonly array $facts,
    ) {}
}
