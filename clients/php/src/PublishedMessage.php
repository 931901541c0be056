<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

/** Result of publishing a message. */
final class PublishedMessage
{
    /**
     * @param string $id Id that it was published with, or the generated one.
     * @param string $topic Topic that it was published to.
     * @param int $partition Index of its partition in the topic.
     * @param \DateTimeImmutable $dueAt Time when the stored message is due, on the Redis server's clock.
     * @param bool $duplicate Whether the id existed. Then the message was left as it is ('ignore', 'earliest') or
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
