<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * What happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace'
 * gives that one the new payload, options and due time, 'earliest' leaves it, but due at the earlier of both times.
 * If it is left out: 'reject'.
 */
enum OnDuplicate: string
{
    case Reject = 'reject';
    case Ignore = 'ignore';
    case Replace = 'replace';
    case Earliest = 'earliest';
}
