<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What is to become of a message that was received. */
enum Outcome: string
{
    /** It is handled. */
    case Ack = 'ack';
    /** The attempt has failed: it comes again, or is a dead letter after its last attempt. */
    case Retry = 'retry';
    /** It becomes a dead letter at once. */
    case Dead = 'dead';
    /** It comes again at once, and spends no attempt. */
    case Release = 'release';
}
