<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The payload, or the whole request, is larger than the gateway takes. */
final class PayloadTooLargeException extends DelayQueueException {}
