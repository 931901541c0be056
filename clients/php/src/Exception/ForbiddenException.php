<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The token does not have the right for this topic. */
final class ForbiddenException extends DelayQueueException {}
