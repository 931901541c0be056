<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** How a message is published. What is left out is as the topic and its handler have it. */
final class PublishOptions
{
    /**
     * @param string|null $id 1 to 256 characters; unique in the topic among messages with the same key
     * @param string|null $key places the message in a partition, and in an ordered topic in a row; the id by default
     * @param int|string|\DateInterval|null $delay until it is due; at once by default
     * @param \DateTimeInterface|int|string|null $deliverAt when it is due, instead of a delay; a number is
     *     epoch milliseconds, text is ISO 8601
     * @param array<string, string>|null $headers stored with the payload
     * @param list<string>|null $tags words to find and cancel it by, at most 8
     * @param int|null $attempts how many deliveries may fail before it is a dead letter, 1 to 1000
     * @param int|string|\DateInterval|null $timeout longest run of a handler in a Nest application
     * @param int|string|\DateInterval|null $expireAfter how long after its due time it is delivered, and no dead letter
     * @param int|string|\DateInterval|null $maxWait with OnDuplicate::Replace: longest time it can be put off
     * @param int|null $replicas how many replicas of Redis have to confirm it, within $replicasTimeout
     */
    public function __construct(
        public readonly ?string $id = null,
        public readonly ?string $key = null,
        public readonly int|string|\DateInterval|null $delay = null,
        public readonly \DateTimeInterface|int|string|null $deliverAt = null,
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
    ) {}

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        $fields = get_object_vars($this);
        foreach (['delay', 'timeout', 'expireAfter', 'maxWait'] as $name) {
            $fields[$name] = Time::duration($name, $fields[$name]);
        }
        $fields['deliverAt'] = Time::moment($this->deliverAt);
        // PHP cannot tell an empty map from an empty list.
        $fields['headers'] = $this->headers === null ? null : (object) $this->headers;
        $fields['tags'] = $this->tags === null ? null : array_values($this->tags);
        $timeout = Time::duration('replicasTimeout', $this->replicasTimeout);
        $fields['replicas'] = $this->replicas === null ? null : ['min' => $this->replicas, 'timeout' => $timeout];
        unset($fields['replicasTimeout']);
        return Json::given($fields);
    }
}
