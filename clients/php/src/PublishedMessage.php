<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** What became of a message that was published. */
final class PublishedMessage
{
    /**
     * @param string $id The id that it was published with, or the one that was made for it.
     * @param string $topic Where it was published.
     * @param int $partition Where it is in the topic.
     * @param \DateTimeImmutable $dueAt When the stored message is due, on the Redis server's clock.
     * @param bool $duplicate Whether the id existed. The message was left as it is ('ignore', 'earliest') or
     *     replaced ('replace'). `false` if it took the place of a finished one.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $topic,
        public readonly int $partition,
        public readonly \DateTimeImmutable $dueAt,
        public readonly bool $duplicate,
    ) {}
}
