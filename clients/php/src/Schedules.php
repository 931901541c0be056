<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\{ListSchedulesException, NotFoundException};
use NestjsDelayQueue\Internal\{Answer, Problem, Transport};

/** What publishes again and again. Where there is no schedule with an id, its methods throw NotFoundException. */
final class Schedules
{
    /** @internal */
    public function __construct(private readonly Transport $transport) {}

    /**
     * @param string|null $topic only those of this topic
     * @return list<Schedule> in the order of their ids
     * @throws ListSchedulesException if those of some topics cannot be told now: it has the others
     */
    public function list(?string $topic = null): array
    {
        $query = $topic === null ? '' : '?topic=' . rawurlencode($topic);
        $answer = $this->transport->call('GET', "/v1/schedules$query");
        $schedules = array_map(static fn (Answer $one) => $one->as(Schedule::class), $answer->objects('schedules'));
        // A gateway of version 0.1 has none: it refuses all if it cannot tell some.
        $failed = $answer->field('failed') === null ? [] : array_map(self::failed(...), $answer->objects('failed'));
        return $failed === [] ? $schedules : throw new ListSchedulesException($schedules, $failed);
    }

    public function get(string $id): Schedule
    {
        return $this->transport->call('GET', self::path($id))->as(Schedule::class);
    }

    /** Stores a schedule, or gives the one with this id another rule, payload or options. */
    public function put(string $id, NewSchedule $schedule): Schedule
    {
        return $this->transport->call('PUT', self::path($id), $schedule->toFields())->as(Schedule::class);
    }

    /** From now on it publishes nothing, until resume(). */
    public function pause(string $id): Schedule
    {
        return $this->transport->call('POST', self::path($id, '/pause'), isOnce: true)->as(Schedule::class);
    }

    /** It goes on with its next occurrence. */
    public function resume(string $id): Schedule
    {
        return $this->transport->call('POST', self::path($id, '/resume'), isOnce: true)->as(Schedule::class);
    }

    /** Publishes its message now, beside its occurrences. */
    public function run(string $id): PublishedMessage
    {
        return $this->transport->call('POST', self::path($id, '/run'), isOnce: true)->as(PublishedMessage::class);
    }

    /**
     * Removes it. What it has published stays.
     *
     * @return bool whether there was one with this id; false also if the first answer was lost
     */
    public function remove(string $id): bool
    {
        try {
            return $this->transport->call('DELETE', self::path($id))->field('removed') === true;
        } catch (NotFoundException $error) {
            return $error->errorCode === 'SCHEDULE_NOT_FOUND' ? false : throw $error;
        }
    }

    private static function failed(Answer $one): FailedSchedules
    {
        return $one->as(FailedSchedules::class, ['error' => Problem::ofPart($one->field('error'))]);
    }

    private static function path(string $id, string $rest = ''): string
    {
        return '/v1/schedules/' . rawurlencode($id) . $rest;
    }
}
