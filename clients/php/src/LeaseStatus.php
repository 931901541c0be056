<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * Result of extending a lease. 'cancelled': the lease was extended, but the message is cancelled; no retry follows.
 * 'stale': the delivery was no longer the current one, and nothing changed.
 */
enum LeaseStatus: string
{
    case Cancelled = 'cancelled';
    case Extended = 'extended';
    case Stale = 'stale';
}
