<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Time;

/**
 * How a message is published. What is left out is as the topic and its handler have it.
 *
 * A duration is a number of milliseconds, text such as '30m', or a DateInterval, whose months and years count from now.
 */
final class PublishOptions
{
    /**
     * @param string|null $id names the message, 1 to 256 characters; unique in the topic among messages with the same
     *     key
     * @param string|null $key places the message in a partition, and in an ordered topic in a row; the id by default
     * @param int|string|\DateInterval|null $delay until it is due; at once by default
     * @param \DateTimeInterface|LocalTime|int|string|null $deliverAt when it is due, instead of a delay; a number is
     *     epoch milliseconds, text is ISO 8601
     * @param array<string, string>|null $headers stored with the payload
     * @param list<string>|null $tags words to find and cancel it by, at most 8
     * @param int|null $attempts how many deliveries may fail before it is a dead letter, 1 to 1000
     * @param int|string|\DateInterval|null $timeout longest run of a handler in a Nest application
     * @param int|string|\DateInterval|null $expireAfter it becomes a dead letter if it is not delivered so long after
     *     it was due
     * @param int|string|\DateInterval|null $maxWait with OnDuplicate::Replace: longest time it can be put off
     * @param int|null $replicas how many replicas of Redis have to confirm it, within $replicasTimeout
     */
    public function __construct(
        public readonly ?string $id = null,
        public readonly ?string $key = null,
        public readonly int|string|\DateInterval|null $delay = null,
        public readonly \DateTimeInterface|LocalTime|int|string|null $deliverAt = null,
        public readonly ?array $headers = null,
        public readonly ?array $tags = null,
        public readonly ?int $attempts = null,
        public readonly ?Backoff $backoff = null,
        public readonly int|string|\DateInterval|null $timeout = null,
        public readonly int|string|\DateInterval|null $expireAfter = null,
        public readonly ?OnDuplicate $onDuplicate = null,
        public readonly int|string|\DateInterval|null $maxWait = null,
        public readonly ?int $replicas = null,
        public readonly int|string|\DateInterval $replicasTimeout = '1s',
    ) {
    }

    /**
     * @internal
     * @return array<string, mixed> as the gateway takes them
     */
    public function toFields(): array
    {
        $fields = [
            'id' => $this->id,
            'key' => $this->key,
            'delay' => Time::optionalDuration('delay', $this->delay),
            'deliverAt' => Time::optionalMoment($this->deliverAt),
            // PHP cannot tell an empty map from an empty list.
            'headers' => $this->headers === null ? null : (object) $this->headers,
            'tags' => $this->tags === null ? null : array_values($this->tags),
            'attempts' => $this->attempts,
            'backoff' => $this->backoff,
            'timeout' => Time::optionalDuration('timeout', $this->timeout),
            'expireAfter' => Time::optionalDuration('expireAfter', $this->expireAfter),
            'onDuplicate' => $this->onDuplicate?->value,
            'maxWait' => Time::optionalDuration('maxWait', $this->maxWait),
            'replicas' => $this->replicas === null
                ? null
                : ['min' => $this->replicas, 'timeout' => Time::duration('replicasTimeout', $this->replicasTimeout)],
        ];
        return array_filter($fields, static fn ($value) => $value !== null);
    }
}
