<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What became of the messages that carry a tag. */
final class TagCancellation
{
    /**
     * @param int $cancelled How many waited, and are cancelled.
     * @param int $inFlight How many are being handled: their handlers are told, and no retry follows.
     */
    public function __construct(
        public readonly int $cancelled,
        public readonly int $inFlight,
    ) {}
}
