<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * Result of a call to move a message to another time. 'dead': it is a dead letter, which somebody has to requeue
 * before it comes again.
 */
enum RescheduleResult: string
{
    case Dead = 'dead';
    case InFlight = 'in-flight';
    case Moved = 'moved';
    case NotFound = 'not-found';
}
