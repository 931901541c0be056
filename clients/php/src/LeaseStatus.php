<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * What became of a lease that was to be extended. 'cancelled': it was, and the message is cancelled; no retry
 * follows. 'stale': the delivery was not the current one any more, and nothing changed.
 */
enum LeaseStatus: string
{
    case Cancelled = 'cancelled';
    case Extended = 'extended';
    case Stale = 'stale';
}
