<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Where it is. 'finished': it has ended, and the topic's option `finished` keeps what became of it. */
enum MessageState: string
{
    case Dead = 'dead';
    case Finished = 'finished';
    case InFlight = 'in-flight';
    case Scheduled = 'scheduled';
}
