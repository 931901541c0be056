<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Where a stored message is. */
enum MessageState: string
{
    case Scheduled = 'scheduled';
    case InFlight = 'in-flight';
    case Dead = 'dead';
    /** It has ended, and the topic keeps what became of it. */
    case Finished = 'finished';
}
