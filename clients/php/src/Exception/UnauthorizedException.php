<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The gateway does not know the token, or there is none. */
final class UnauthorizedException extends DelayQueueException {}
