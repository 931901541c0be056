<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\Time;

/** A schedule to store: it publishes `every` so often, or at the times of a `cron` expression. */
final class NewSchedule
{
    /**
     * @param mixed $payload what its messages carry
     * @param int|string|\DateInterval|null $every time from one occurrence to the next, at least 100 ms
     * @param string|null $cron five fields, or six, the first of which are the seconds
     * @param string|null $timeZone of `cron`, such as 'Europe/Berlin'; UTC by default
     * @param \DateTimeInterface|int|string|null $startAt no occurrence is before
     * @param \DateTimeInterface|int|string|null $endAt no occurrence is after
     * @param 'none'|'latest'|'all'|null $catchUp which occurrences of an outage are published; 'latest' by default
     * @param 'allow'|'skip'|null $overlap whether one is published while an earlier one is not over; 'allow' by default
     * @param PublishOptions|null $options of its messages: key, attempts, backoff, timeout, expireAfter, headers and
     *     tags
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
    ) {
    }

    /**
     * @internal
     * @return array<string, mixed>
     */
    public function toFields(): array
    {
        $fields = [
            'every' => Time::optionalDuration('every', $this->every),
            'cron' => $this->cron,
            'timeZone' => $this->timeZone,
            'startAt' => Time::optionalMoment($this->startAt),
            'endAt' => Time::optionalMoment($this->endAt),
            'catchUp' => $this->catchUp,
            'overlap' => $this->overlap,
            'options' => $this->options === null ? null : (object) $this->options->toFields(),
        ];
        $given = array_filter($fields, static fn ($value) => $value !== null);
        return ['topic' => $this->topic, 'payload' => $this->payload, ...$given];
    }
}
