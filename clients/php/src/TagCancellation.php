<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Result of cancelling the messages with a tag. */
final class TagCancellation
{
    /**
     * @param int $cancelled Number of messages that waited and are cancelled.
     * @param int $inFlight Number of messages being handled: their signals abort, and no retry follows.
     */
    public function __construct(
        public readonly int $cancelled,
        public readonly int $inFlight,
    ) {}
}
