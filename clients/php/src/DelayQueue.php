<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\PublishManyException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Http\Origin;
use NestjsDelayQueue\Internal\Problem;
use NestjsDelayQueue\Internal\Requests;
use NestjsDelayQueue\Internal\Time;
use NestjsDelayQueue\Internal\Transport;

/**
 * Publishes, receives and looks after delayed messages through a gateway of nestjs-delay-queue.
 *
 * What fails on the way, and what the gateway cannot serve at the moment, is repeated; nothing happens twice by that.
 * Every method throws {@see DelayQueueException}, or one of its classes that tells what was wrong.
 *
 * A duration is a number of milliseconds, text such as '30s' or '1h30m', or a DateInterval.
 */
final class DelayQueue
{
    public readonly Schedules $schedules;

    private readonly Transport $transport;

    /**
     * Connects with the first request.
     *
     * @param string $url the gateway, such as 'https://queue.example.com', with the path that a Nest application has
     *     given it
     * @param string|null $token what the gateway asks for as `Authorization: Bearer`
     * @throws InvalidArgumentException
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] ?string $token = null,
        public readonly ClientOptions $options = new ClientOptions(),
    ) {
        $this->transport = new Transport(Origin::of($url, $token), $options);
        $this->schedules = new Schedules($this->transport, $options);
    }

    /**
     * @param mixed $payload anything that JSON can say; `new \stdClass()` is an empty object, `[]` an empty list
     * @throws Exception\DuplicateMessageException if the id exists
     * @throws DelayQueueException
     */
    public function publish(
        string $topic,
        mixed $payload,
        PublishOptions $options = new PublishOptions(),
    ): PublishedMessage {
        $message = new NewMessage($payload, $options);
        $request = Requests::once('POST', Requests::topic($topic) . '/messages', $message->toFields());
        return PublishedMessage::from($this->transport->call($request));
    }

    /**
     * Publishes several messages in one request. One that cannot be right, such as for its delay, refuses them all.
     *
     * @param list<NewMessage> $messages 1 to 1,000
     * @return list<PublishedMessage> in the order of the messages
     * @throws PublishManyException if some were refused: it has a result for each
     * @throws DelayQueueException if the request was
     */
    public function publishMany(string $topic, array $messages): array
    {
        $fields = array_map(static fn (NewMessage $message) => $message->toFields(), array_values($messages));
        $request = Requests::once('POST', Requests::topic($topic) . '/messages', ['messages' => $fields]);
        $published = $refused = [];
        foreach ($this->transport->call($request)->objects('messages') as $i => $result) {
            if ($result->has('error')) {
                $refused[$i] = Problem::ofFields($result->object('error'));
            } else {
                $published[$i] = PublishedMessage::from($result);
            }
        }
        if ($refused === []) {
            return array_values($published);
        }
        $results = $published + $refused;
        ksort($results);
        throw new PublishManyException(array_values($results));
    }

    /**
     * Looks at a message.
     *
     * @param string|null $key if it was published with one
     * @throws Exception\NotFoundException if there is none
     * @throws DelayQueueException
     */
    public function get(string $topic, string $id, ?string $key = null): MessageDetails
    {
        $request = Requests::get(Requests::message($topic, $id, $key));
        return MessageDetails::from($this->transport->call($request), $this->options->payloadsAsArrays);
    }

    /**
     * @param string|null $key if it was published with one
     * @throws DelayQueueException
     */
    public function cancel(string $topic, string $id, ?string $key = null): CancelResult
    {
        $answer = $this->transport->call(Requests::once('DELETE', Requests::message($topic, $id, $key)));
        return $answer->enum('result', CancelResult::class);
    }

    /**
     * Cancels all messages with a tag.
     *
     * @throws DelayQueueException
     */
    public function cancelTagged(string $topic, string $tag): TagCancellation
    {
        $path = Requests::topic($topic) . '/messages?tag=' . rawurlencode($tag);
        $answer = $this->transport->call(Requests::once('DELETE', $path));
        return new TagCancellation($answer->int('cancelled'), $answer->int('inFlight'));
    }

    /**
     * Gives a message that waits another due time.
     *
     * @param int|string|\DateInterval|\DateTimeInterface|LocalTime $due a duration from now, or a time
     * @param string|null $key if it was published with one
     * @return bool false: it does not wait, or does not exist
     * @throws DelayQueueException
     */
    public function reschedule(
        string $topic,
        string $id,
        int|string|\DateInterval|\DateTimeInterface|LocalTime $due,
        ?string $key = null,
    ): bool {
        $body = $due instanceof \DateTimeInterface || $due instanceof LocalTime
            ? ['deliverAt' => Time::optionalMoment($due)]
            : ['delay' => Time::duration('due', $due)];
        $request = Requests::once('PATCH', Requests::message($topic, $id, $key), $body);
        return $this->transport->call($request)->bool('rescheduled');
    }

    /**
     * Waits for messages, and has them for the time of their lease.
     *
     * @param string|list<string> $topics of several, the messages of the first come first
     * @param int $max 1 to 200
     * @param int|string|\DateInterval $wait longest time until there is a message, up to a minute; 0: what is due now
     * @param int|string|\DateInterval|null $lease at least 1 s; 0: they are gone when they are received; the gateway's
     *     by default
     * @return list<ReceivedMessage> none after `$wait`
     * @throws DelayQueueException
     */
    public function receive(
        string|array $topics,
        int $max = 1,
        int|string|\DateInterval $wait = '20s',
        int|string|\DateInterval|null $lease = null,
    ): array {
        $wait = Time::milliseconds('wait', $wait);
        $lease = $lease === null ? null : Time::milliseconds('lease', $lease);
        $answer = $this->transport->call(Requests::receive($topics, $max, $wait, $lease), $wait);
        return array_map(fn (Fields $message) => ReceivedMessage::from($message, $this), $answer->objects('messages'));
    }

    /**
     * Settles messages in one request, in any process that has their receipts.
     *
     * @param list<Settlement> $settlements 1 to 1,000
     * @return list<SettleResult> in their order
     * @throws DelayQueueException
     */
    public function settle(array $settlements): array
    {
        $answer = $this->transport->call(Requests::settle(array_values($settlements)));
        return array_map(SettleResult::from(...), $answer->objects('results'));
    }

    /**
     * The lease of a message ends so long after now.
     *
     * @param int|string|\DateInterval $lease at least 1 s
     * @throws DelayQueueException
     */
    public function extend(string $receipt, int|string|\DateInterval $lease): LeaseStatus
    {
        $answer = $this->transport->call(Requests::extend([$receipt], Time::duration('lease', $lease)));
        return $answer->objects('results')[0]->enum('status', LeaseStatus::class);
    }

    /**
     * The topics that the gateway serves and that this client may read.
     *
     * @return list<string>
     * @throws DelayQueueException
     */
    public function topics(): array
    {
        return $this->transport->call(Requests::get('/v1/topics'))->list('topics');
    }

    /**
     * How many messages a topic has, by state.
     *
     * @throws DelayQueueException
     */
    public function stats(string $topic): TopicStats
    {
        return TopicStats::from($this->transport->call(Requests::get(Requests::topic($topic) . '/stats')));
    }

    /**
     * Why a message has not run, or what became of it.
     *
     * @param string|null $key if it was published with one
     * @throws DelayQueueException
     */
    public function explain(string $topic, string $id, ?string $key = null): Explanation
    {
        $request = Requests::get(Requests::message($topic, $id, $key, '/explain'));
        return Explanation::from($this->transport->call($request));
    }

    /** @internal */
    public function transport(): Transport
    {
        return $this->transport;
    }
}
