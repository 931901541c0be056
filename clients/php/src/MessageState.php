<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Its state. 'finished': it has ended, and the topic's option `finished` keeps its outcome. */
enum MessageState: string
{
    case Dead = 'dead';
    case Finished = 'finished';
    case InFlight = 'in-flight';
    case Scheduled = 'scheduled';
}
