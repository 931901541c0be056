<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What came of settling a message. */
enum SettleStatus: string
{
    case Settled = 'settled';
    /** It was settled before, or its lease had ended and it was delivered again. Nothing has changed. */
    case Stale = 'stale';
    /** It was cancelled meanwhile, so a failure has no consequence. */
    case Cancelled = 'cancelled';
    /** It was replaced meanwhile, so a failure has no consequence. */
    case Replaced = 'replaced';
}
