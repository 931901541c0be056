<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The gateway could not be reached, has not answered in time, or cannot reach Redis; trying again has not helped. */
final class UnavailableException extends DelayQueueException
{
}
