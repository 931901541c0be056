<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What came of rescheduling a message. */
enum RescheduleResult: string
{
    case Moved = 'moved';
    /** Somebody has it. */
    case InFlight = 'in-flight';
    /** It is a dead letter. */
    case Dead = 'dead';
    case NotFound = 'not-found';
}
