<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Internal\Time;

/** A message that a child has. */
final class Held
{
    public readonly int $startedAt;

    /** Whether its handler runs; afterwards it only has to be settled. */
    public bool $isHandling = true;

    /** When its lease began, on the clock of Time::now(); null: it was settled, or belongs to somebody else. */
    public ?int $leasedAt;

    public function __construct(public readonly string $id, public readonly string $receipt)
    {
        $this->leasedAt = $this->startedAt = Time::now();
    }
}
