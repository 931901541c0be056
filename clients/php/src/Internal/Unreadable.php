<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

/** What is there in place of what cannot be read. */
enum Unreadable
{
    case Payload;
}
