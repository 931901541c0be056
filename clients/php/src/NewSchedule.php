<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** A schedule to store: it publishes `every` so often, or at the times of a `cron` expression. */
final class NewSchedule
{
    /**
     * @param int|string|\DateInterval|null $every time from one occurrence to the next, at least 100 ms
     * @param string|null $cron five fields, or six, the first of which are the seconds
     * @param string|null $timeZone of `cron`, such as 'Europe/Berlin'; UTC by default
     * @param \DateTimeInterface|int|string|null $startAt no occurrence is before
     * @param \DateTimeInterface|int|string|null $endAt no occurrence is after
     * @param 'none'|'latest'|'all'|null $catchUp which occurrences of an outage are published; 'latest' by default
     * @param 'allow'|'skip'|null $overlap whether one is published while an earlier one is not over; 'allow' by default
     * @param PublishOptions|null $options key, attempts, backoff, timeout, expireAfter, headers and tags of its messages
     */
    public function __construct(
        public readonly string $topic,
        public readonly mixed $payload,
        public readonly int|string|\DateInterval|null $every = null,
        public readonly ?string $cron = null,
        public readonly ?string $timeZone = null,
        public readonly \DateTimeInterface|int|string|null $startAt = null,
        public readonly \DateTimeInterface|int|string|null $endAt = null,
        public readonly ?string $catchUp = null,
        public readonly ?string $overlap = null,
        public readonly ?PublishOptions $options = null,
    ) {}

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        $fields = get_object_vars($this);
        $fields['every'] = Time::duration('every', $this->every);
        $fields['startAt'] = Time::moment($this->startAt);
        $fields['endAt'] = Time::moment($this->endAt);
        $fields['options'] = $this->options === null ? null : (object) $this->options->toFields();
        return [...Json::given($fields), 'payload' => $this->payload];
    }
}
