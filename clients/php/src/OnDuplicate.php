<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What happens if the id of a published message exists. */
enum OnDuplicate: string
{
    /** DuplicateMessageException. */
    case Reject = 'reject';
    /** The first one stays as it is. */
    case Ignore = 'ignore';
    /** The first one gets the new payload, options and due time: a debounce. */
    case Replace = 'replace';
    /** The first one stays, due at the earlier of both times. */
    case Earliest = 'earliest';
}
