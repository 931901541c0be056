<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Explanation of why a message has not run, or of its outcome. */
final class Explanation
{
    /**
     * @param string $cause The first cause that holds, in a fixed order. One of 'behind', 'blocked-by-key', 'dead',
     *     'finished', 'max-in-flight', 'no-consumer', 'no-owner', 'not-due', 'owner-silent', 'paused', 'rate-limited',
     *     'retrying', 'running', 'starved' and 'unknown-id'.
     * @param list<string> $also The other causes that hold, in the same order: what would keep the message waiting
     *     without the first one.
     * @param array<string, mixed> $facts Facts on which the explanation is based.
     * @param string $advice Meaning of the cause, and what to do, in English.
     */
    public function __construct(
        public readonly string $cause,
        public readonly array $also,
        public readonly array $facts,
        public readonly string $advice,
    ) {}
}
