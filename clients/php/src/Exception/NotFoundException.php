<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** There is no such message, schedule or topic, or the gateway has no such route. */
final class NotFoundException extends DelayQueueException {}
