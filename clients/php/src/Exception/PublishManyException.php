<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

use NestjsDelayQueue\PublishedMessage;

/** Some messages of a publishMany() were refused; the others were published. */
final class PublishManyException extends \RuntimeException
{
    /**
     * @param list<PublishedMessage|DelayQueueException> $results one for each message, in their order
     */
    public function __construct(public readonly array $results)
    {
        $refused = array_filter($results, static fn ($result) => $result instanceof DelayQueueException);
        $first = reset($refused);
        $of = count($results);
        $why = $first instanceof DelayQueueException ? " The first: {$first->getMessage()}" : '';
        parent::__construct(count($refused) . " of $of messages were refused, the others are published.$why");
    }
}
