<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What came of extending a lease. */
enum LeaseStatus: string
{
    case Extended = 'extended';
    /** The lease had ended, and the message belongs to somebody else or was settled. */
    case Lost = 'lost';
    /** The message was cancelled meanwhile: whatever becomes of it has no consequence. */
    case Cancelled = 'cancelled';
}
