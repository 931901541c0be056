<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\DelayQueueException;

/** Schedules of a topic that cannot be told now. */
final class FailedSchedules
{
    /** @param list<string> $ids */
    public function __construct(
        public readonly string $topic,
        public readonly array $ids,
        public readonly DelayQueueException $error,
    ) {}
}
