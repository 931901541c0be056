<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What came of cancelling a message. */
enum CancelResult: string
{
    case Cancelled = 'cancelled';
    /** Somebody has it: it is handled, but does not come again. */
    case InFlight = 'in-flight';
    case NotFound = 'not-found';
}
