<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Result of a call to cancel a message. 'in-flight': its handler runs and its signal aborts, and no retry follows. */
enum CancelResult: string
{
    case Cancelled = 'cancelled';
    case InFlight = 'in-flight';
    case NotFound = 'not-found';
}
