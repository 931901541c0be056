<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** How a message is published. What is left out is as its topic has it. */
final class PublishOptions
{
    /**
     * @param string|null $id Names the message, unique in its topic among those of its key; 1 to 256 characters. If
     *     it is left out, one is made.
     * @param string|null $key Places the message in a partition, and in an ordered topic behind others of the key;
     *     1 to 256 characters. If it is left out, it is the id.
     * @param int|string|\DateInterval|null $delay Time from now until it is due, up to 10 years. If it is left out,
     *     it is due at once.
     * @param \DateTimeInterface|int|string|null $deliverAt When it is due, in place of a delay. A time that has
     *     passed means at once.
     * @param int|null $attempts How many deliveries may fail before it is a dead letter, 1 to 1000.
     * @param Backoff|null $backoff How long to wait between the attempts.
     * @param int|string|\DateInterval|null $timeout Longest run of one call of a handler in a Nest application.
     * @param int|string|\DateInterval|null $expireAfter Dead letter if it is not delivered within this time after
     *     it was due.
     * @param array<string, string>|null $headers Stored with the payload.
     * @param list<string>|null $tags Words by which messages can be listed and cancelled: at most 8, of 1 to 128
     *     characters.
     * @param OnDuplicate|null $onDuplicate What happens if the id exists: 'reject' refuses the message, 'ignore'
     *     leaves the first one as it is, 'replace' gives that one the new payload, options and due time, 'earliest'
     *     leaves it, but due at the earlier of both times. If it is left out: 'reject'.
     * @param int|string|\DateInterval|null $maxWait If it replaces others: however often it is replaced, it is due
     *     at most so long after the first publish.
     * @param int|null $replicas How many replicas of Redis have to confirm the publish, and in which time.
     */
    public function __construct(
        public readonly ?string $id = null,
        public readonly ?string $key = null,
        public readonly int|string|\DateInterval|null $delay = null,
        public readonly \DateTimeInterface|int|string|null $deliverAt = null,
        public readonly ?int $attempts = null,
        public readonly ?Backoff $backoff = null,
        public readonly int|string|\DateInterval|null $timeout = null,
        public readonly int|string|\DateInterval|null $expireAfter = null,
        public readonly ?array $headers = null,
        public readonly ?array $tags = null,
        public readonly ?OnDuplicate $onDuplicate = null,
        public readonly int|string|\DateInterval|null $maxWait = null,
        public readonly ?int $replicas = null,
        public readonly int|string|\DateInterval $replicasTimeout = '1s',
    ) {}

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        return [
            ...Json::given([
                'id' => $this->id,
                'key' => $this->key,
                'delay' => Time::duration('delay', $this->delay),
                'deliverAt' => Time::moment($this->deliverAt),
                'attempts' => $this->attempts,
                'backoff' => $this->backoff,
                'timeout' => Time::duration('timeout', $this->timeout),
                'expireAfter' => Time::duration('expireAfter', $this->expireAfter),
                'headers' => $this->headers === null ? null : (object) $this->headers,
                'tags' => $this->tags === null ? null : array_values($this->tags),
                'onDuplicate' => $this->onDuplicate,
                'maxWait' => Time::duration('maxWait', $this->maxWait),
                'replicas' => $this->replicas === null ? null : [
                    'min' => $this->replicas,
                    'timeout' => Time::duration('replicasTimeout', $this->replicasTimeout),
                ],
            ]),
        ];
    }
}
