<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\DelayQueueException;

/** Schedules of a topic that cannot be read now. */
final class FailedSchedules
{
    /**
     * @param string $topic Topic of their messages.
     * @param list<string> $ids Names of the schedules.
     * @param DelayQueueException $error Why they cannot be read.
     */
    public function __construct(
        public readonly string $topic,
        public readonly array $ids,
        public readonly DelayQueueException $error,
    ) {}
}
