<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Http\Request;
use NestjsDelayQueue\Internal\Requests;
use NestjsDelayQueue\Internal\Transport;

/** What publishes again and again. See {@see DelayQueue::$schedules}. */
final class Schedules
{
    /** @internal */
    public function __construct(private readonly Transport $transport, private readonly ClientOptions $options)
    {
    }

    /**
     * @param string|null $topic only those of this topic
     * @return list<Schedule> in the order of their ids
     * @throws DelayQueueException
     */
    public function list(?string $topic = null): array
    {
        $query = $topic === null ? '' : '?topic=' . rawurlencode($topic);
        $answer = $this->transport->call(Requests::get("/v1/schedules$query"));
        return array_map($this->toSchedule(...), $answer->objects('schedules'));
    }

    /**
     * @throws NotFoundException if there is none with this id
     * @throws DelayQueueException
     */
    public function get(string $id): Schedule
    {
        return $this->ask(Requests::get(Requests::schedule($id)));
    }

    /**
     * Stores a schedule, or gives the one with this id another rule, payload or options. What is the same already
     * changes nothing.
     *
     * @throws DelayQueueException
     */
    public function put(string $id, NewSchedule $schedule): Schedule
    {
        return $this->ask(Requests::repeatable('PUT', Requests::schedule($id), $schedule->toFields()));
    }

    /**
     * From now on it publishes nothing, until resume().
     *
     * @throws NotFoundException if there is none with this id
     * @throws DelayQueueException
     */
    public function pause(string $id): void
    {
        $this->transport->call(Requests::repeatable('POST', Requests::schedule($id, '/pause')));
    }

    /**
     * It goes on with its next occurrence.
     *
     * @throws NotFoundException if there is none with this id
     * @throws DelayQueueException
     */
    public function resume(string $id): void
    {
        $this->transport->call(Requests::repeatable('POST', Requests::schedule($id, '/resume')));
    }

    /**
     * Publishes its message now, beside its occurrences.
     *
     * @throws NotFoundException if there is none with this id
     * @throws DelayQueueException
     */
    public function run(string $id): PublishedMessage
    {
        $request = Requests::once('POST', Requests::schedule($id, '/run'));
        return PublishedMessage::from($this->transport->call($request));
    }

    /**
     * Removes it. What it has published stays.
     *
     * @return bool whether there was one with this id; false also if the first answer was lost
     * @throws DelayQueueException
     */
    public function remove(string $id): bool
    {
        try {
            return $this->transport->call(Requests::repeatable('DELETE', Requests::schedule($id)))->bool('removed');
        } catch (NotFoundException $error) {
            return $error->errorCode === 'SCHEDULE_NOT_FOUND' ? false : throw $error;
        }
    }

    private function ask(Request $request): Schedule
    {
        return $this->toSchedule($this->transport->call($request));
    }

    private function toSchedule(Fields $fields): Schedule
    {
        return Schedule::from($fields, $this->options->payloadsAsArrays);
    }
}
