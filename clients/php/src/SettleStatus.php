<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/**
 * Result of settling a delivery. 'stale': the delivery was not the current one, and nothing changed. 'cancelled',
 * 'replaced': that happened to the message meanwhile, so a failure of the delivery has no consequence.
 */
enum SettleStatus: string
{
    case Cancelled = 'cancelled';
    case Replaced = 'replaced';
    case Settled = 'settled';
    case Stale = 'stale';
}
