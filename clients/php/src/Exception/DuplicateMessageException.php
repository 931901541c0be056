<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** A message with this id exists, and nothing was published. */
final class DuplicateMessageException extends DelayQueueException {}
