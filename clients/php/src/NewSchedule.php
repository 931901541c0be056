<?php

// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** A rule that publishes a message again and again: at an interval, or at the times of a cron expression. */
final class NewSchedule
{
    /**
     * @param string $topic Where its messages go. It cannot be changed.
     * @param mixed $payload What its messages carry.
     * @param int|string|\DateInterval|null $every Interval between two occurrences, at least 100 ms; or else there
     *     is a cron expression.
     * @param string|null $cron A cron expression of five fields, or of six, the first of which are the seconds.
     * @param string|null $timeZone The time zone of the expression, such as 'Europe/Berlin'; UTC if it is left out.
     * @param \DateTimeInterface|int|string|null $startAt No occurrence comes before this time; with an interval, it
     *     is the first one.
     * @param \DateTimeInterface|int|string|null $endAt No occurrence comes after this time.
     * @param string|null $catchUp Which occurrences are published after an outage; 'latest' if it is left out. One
     *     of 'none', 'latest' and 'all'.
     * @param string|null $overlap Whether an occurrence is published while an earlier one waits, runs or retries
     *     ('allow'), or counts as missed ('skip'); 'allow' if it is left out.
     * @param PublishOptions|null $options How the messages of the schedule are published.
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
        return [
            'topic' => $this->topic,
            'payload' => $this->payload,
            ...Json::given([
                'every' => Time::duration('every', $this->every),
                'cron' => $this->cron,
                'timeZone' => $this->timeZone,
                'startAt' => Time::moment($this->startAt),
                'endAt' => Time::moment($this->endAt),
                'catchUp' => $this->catchUp,
                'overlap' => $this->overlap,
                'options' => $this->options === null ? null : (object) $this->options->toFields(),
            ]),
        ];
    }
}
