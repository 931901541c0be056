<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

use NestjsDelayQueue\PublishedMessage;

/** Some messages of a publishMany() were refused; the others are published. */
final class PublishManyException extends DelayQueueException
{
    /** @param non-empty-list<PublishedMessage|DelayQueueException> $results one for each message, in their order */
    public function __construct(public readonly array $results)
    {
        $refused = array_values(array_filter($results, static fn ($result) => $result instanceof DelayQueueException));
        $numbers = count($refused) . ' of ' . count($results);
        $detail = "$numbers messages were refused, the others are published. The first refusal: {$refused[0]->detail}";
        parent::__construct('PUBLISH_MANY', $detail, 207, $refused[0]);
    }
}
