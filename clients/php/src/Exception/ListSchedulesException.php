<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

use NestjsDelayQueue\{FailedSchedules, Schedule};

/** The schedules of some topics cannot be told now: `$failed` says which, and why; `$schedules` has the others. */
final class ListSchedulesException extends DelayQueueException
{
    /**
     * @param list<Schedule> $schedules
     * @param non-empty-list<FailedSchedules> $failed
     */
    public function __construct(public readonly array $schedules, public readonly array $failed)
    {
        $topics = implode(', ', array_column($failed, 'topic'));
        $detail = "Schedules of $topics cannot be told now: {$failed[0]->error->detail}";
        parent::__construct('LIST_SCHEDULES', $detail, 200, $failed[0]->error);
    }
}
