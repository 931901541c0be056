<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** How many messages with a tag were cancelled, and how many somebody has: those do not come again. */
final class TagCancellation
{
    public function __construct(public readonly int $cancelled, public readonly int $inFlight) {}
}
