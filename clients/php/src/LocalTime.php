<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A time as the clocks of a time zone show it. */
final class LocalTime
{
    /**
     * @param string $local without an offset, such as '2026-12-24T18:00'
     * @param string $timeZone a name such as 'Europe/Berlin'
     */
    public function __construct(public readonly string $local, public readonly string $timeZone)
    {
    }
}
