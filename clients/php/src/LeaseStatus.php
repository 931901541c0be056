<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What came of extending a lease. */
enum LeaseStatus: string
{
    case Extended = 'extended';
    /** It was extended, but the message is cancelled: if its handling fails, it does not come again. */
    case Cancelled = 'cancelled';
    /** The lease had ended, and the message belongs to somebody else, or it was settled. */
    case Stale = 'stale';
}
