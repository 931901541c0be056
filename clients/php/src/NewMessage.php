<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

/** A message to publish, for DelayQueue::publishMany(). */
final class NewMessage
{
    public function __construct(
        public readonly mixed $payload,
        public readonly PublishOptions $options = new PublishOptions(),
    ) {}

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        return ['payload' => $this->payload, ...$this->options->toFields()];
    }
}
