<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\{DelayQueueException, InvalidArgumentException, PublishManyException, UnavailableException};
use NestjsDelayQueue\Internal\{Answer, Credentials, Http, Json, Problem, Time, Transport, Unreadable};

/**
 * Publishes, receives and looks after delayed messages through a gateway of nestjs-delay-queue.
 *
 * A call that fails on its way is repeated; nothing happens twice by that. Every method throws
 * {@see DelayQueueException}, or one of its classes. A `$key` is needed for messages that were published with one.
 *
 * A duration is a number of milliseconds, text such as '30s' or '1h30m', or a DateInterval.
 */
final class DelayQueue
{
    public readonly Schedules $schedules;

    /** @internal */
    public readonly Transport $transport;

    /**
     * @param string $url the gateway, such as 'https://queue.example.com', with the path that a Nest application has
     *     given it
     * @param string|(\Closure(): ?string)|null $token what the gateway asks for as `Authorization: Bearer`, or a closure
     *     that returns the current one. It is asked for each call, and once more if the gateway refuses what it has
     *     returned; if it throws, that try of the call has failed
     * @param int|string|\DateInterval $timeout longest time of one try; a receive has its `wait` on top
     * @param int|string|\DateInterval $retryFor for how long a call is repeated, at most 100 s: the gateway knows for two
     *     minutes what it has done
     * @param array<string, mixed> $tls options of PHP's SSL context, such as `['cafile' => '/etc/ssl/own-ca.pem']`
     * @throws InvalidArgumentException
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] string|\Closure|null $token = null,
        int|string|\DateInterval $timeout = '10s',
        int|string|\DateInterval $retryFor = '15s',
        array $tls = [],
    ) {
        $this->transport = new Transport(
            new Http($url, $tls),
            $token instanceof \Closure ? $token : Credentials::checked($token),
            Time::milliseconds('timeout', $timeout, 1),
            Time::milliseconds('retryFor', $retryFor, 0, 100_000),
        );
        $this->schedules = new Schedules($this->transport);
    }

    /**
     * @param mixed $payload anything that JSON can say; `new \stdClass()` is an empty object, `[]` an empty list
     * @throws Exception\DuplicateMessageException if the id exists
     */
    public function publish(string $topic, mixed $payload, PublishOptions $options = new PublishOptions()): PublishedMessage
    {
        $body = (new NewMessage($payload, $options))->toFields();
        return $this->transport->call('POST', self::path($topic, '/messages'), $body, true)->as(PublishedMessage::class);
    }

    /**
     * Publishes several messages in one request. One that cannot be right, such as for its delay, refuses them all. If
     * Redis is away for some, all are sent again, which publishes none twice.
     *
     * @param list<NewMessage> $messages 1 to 1,000
     * @return list<PublishedMessage> in the order of the messages
     * @throws PublishManyException if some were refused: it has a result for each
     */
    public function publishMany(string $topic, array $messages): array
    {
        $body = ['messages' => array_map(static fn (NewMessage $one) => $one->toFields(), array_values($messages))];
        $path = self::path($topic, '/messages');
        $troubleIn = static fn (Answer $answer) => self::refusals(self::publishResults($answer), UnavailableException::class)[0] ?? null;
        $answer = $this->transport->call('POST', $path, $body, isOnce: true, troubleIn: $troubleIn);
        $results = self::counted(self::publishResults($answer), $messages);
        return self::refusals($results, DelayQueueException::class) === [] ? $results : throw new PublishManyException($results);
    }

    /** @throws Exception\NotFoundException if there is no such message */
    public function get(string $topic, string $id, ?string $key = null): MessageDetails
    {
        return $this->transport->call('GET', self::message($topic, $id, $key))->as(MessageDetails::class);
    }

    /** @return CancelResult NotFound also if the first answer was lost */
    public function cancel(string $topic, string $id, ?string $key = null): CancelResult
    {
        return $this->transport->call('DELETE', self::message($topic, $id, $key))->enum('result', CancelResult::class);
    }

    /** Cancels all messages with a tag. */
    public function cancelTagged(string $topic, string $tag): TagCancellation
    {
        $path = self::path($topic, '/messages?tag=' . rawurlencode($tag));
        return $this->transport->call('DELETE', $path)->as(TagCancellation::class);
    }

    /** Gives a message that waits another due time: a duration from now, or a time. */
    public function reschedule(
        string $topic,
        string $id,
        int|string|\DateInterval|\DateTimeInterface $due,
        ?string $key = null,
    ): RescheduleResult {
        $body = $due instanceof \DateTimeInterface
            ? ['deliverAt' => Time::moment($due)]
            : ['delay' => Time::duration('due', $due)];
        return $this->transport->call('PATCH', self::message($topic, $id, $key), $body)
            ->enum('result', RescheduleResult::class);
    }

    /**
     * Receives messages, and has them for the time of their lease.
     *
     * @param string|list<string> $topics of several, the messages of the first come first
     * @param int $max 1 to 200
     * @param int|string|\DateInterval $wait longest time until there is a message, up to a minute
     * @param int|string|\DateInterval|null $lease at least 1 s; 0: they are gone when they are received; the gateway's
     *     by default
     * @param string|null $consumer names who receives, for those who look at the fleet, 1 to 128 characters; the gateway
     *     names it by default
     * @return list<ReceivedMessage> none after `$wait`
     */
    public function receive(
        string|array $topics,
        int $max = 1,
        int|string|\DateInterval $wait = 0,
        int|string|\DateInterval|null $lease = null,
        ?string $consumer = null,
    ): array {
        $wait = Time::milliseconds('wait', $wait);
        return $this->receiveFor(null, $topics, $max, $wait, Time::duration('lease', $lease), $consumer);
    }

    /** Settles a message, in any process that has its receipt. */
    public function settle(Settlement $settlement): SettleStatus
    {
        return $this->settleMany([$settlement])[0];
    }

    /**
     * Settles several messages in one request.
     *
     * @param list<Settlement> $settlements 1 to 1,000
     * @return list<SettleStatus> in their order
     */
    public function settleMany(array $settlements): array
    {
        return $this->settleFor(null, $settlements);
    }

    /** The lease of a message ends so long after now, at least 1 s. */
    public function extend(string $receipt, int|string|\DateInterval $lease): LeaseStatus
    {
        $body = ['extensions' => [['receipt' => $receipt, 'lease' => Time::duration('lease', $lease)]]];
        [$result] = self::counted($this->transport->call('POST', '/v1/extend', $body)->objects('results'), [$receipt]);
        return $result->enum('status', LeaseStatus::class);
    }

    /** @return list<string> the topics that the gateway serves and that this client may read */
    public function topics(): array
    {
        return $this->transport->call('GET', '/v1/topics')->list('topics');
    }

    /** How many messages a topic has, by state. */
    public function stats(string $topic): TopicStats
    {
        return $this->transport->call('GET', self::path($topic, '/stats'))->as(TopicStats::class);
    }

    /** Why a message has not run, or what became of it. */
    public function explain(string $topic, string $id, ?string $key = null): Explanation
    {
        return $this->transport->call('GET', self::message($topic, $id, $key, '/explain'))->as(Explanation::class);
    }

    /**
     * @internal as receive(), with times in milliseconds
     * @param string|list<string> $topics
     * @param (\Closure(string): void)|null $log gets a sentence about each message that cannot be read
     * @return list<ReceivedMessage>
     */
    public function receiveFor(
        ?int $retryFor,
        string|array $topics,
        int $max,
        int $wait,
        int|string|null $lease,
        ?string $consumer,
        ?\Closure $log = null,
    ): array {
        $body = Json::given(['max' => $max, 'wait' => $wait, 'lease' => $lease, 'consumer' => $consumer]);
        [$path, $body] = is_array($topics)
            ? ['/v1/receive', ['topics' => array_values($topics), ...$body]]
            : [self::path($topics, '/receive'), $body];
        $answer = $this->transport->call('POST', $path, $body, wait: $wait, retryFor: $retryFor);
        $received = fn (Answer $message) => $message->as(ReceivedMessage::class, ['queue' => $this]);
        $messages = array_map($received, $answer->objects('messages'));
        $isUnreadable = static fn (ReceivedMessage $message) => $message->payload === Unreadable::Payload;
        $this->giveUp(array_filter($messages, $isUnreadable), $log);
        return array_values(array_filter($messages, static fn ($message) => !$isUnreadable($message)));
    }

    /**
     * Nobody can handle them here, and those that came with them must not suffer.
     *
     * @param array<int, ReceivedMessage> $messages
     * @param (\Closure(string): void)|null $log
     */
    private function giveUp(array $messages, ?\Closure $log): void
    {
        $reason = 'Its payload is nested deeper than PHP can read.';
        foreach ($log === null ? [] : $messages as $message) {
            $log("Message '$message->id' becomes a dead letter. $reason");
        }
        $leased = array_filter($messages, static fn ($message) => $message->lease > 0);
        if ($leased === []) {
            return;
        }
        try {
            $this->settleMany(array_map(static fn ($message) => Settlement::dead($message->receipt, $reason), $leased));
        } catch (DelayQueueException) {
            // They come again when their leases end.
        }
    }

    /**
     * @internal as settleMany(), with times in milliseconds
     * @param list<Settlement> $settlements
     * @return list<SettleStatus>
     */
    public function settleFor(?int $retryFor, array $settlements, ?int $timeout = null): array
    {
        $body = ['settlements' => array_map(static fn (Settlement $one) => $one->toFields(), array_values($settlements))];
        $answer = $this->transport->call('POST', '/v1/settle', $body, isOnce: true, timeout: $timeout, retryFor: $retryFor);
        $results = self::counted($answer->objects('results'), $settlements);
        return array_map(static fn (Answer $one) => $one->enum('status', SettleStatus::class), $results);
    }

    /** @return list<PublishedMessage|DelayQueueException> */
    private static function publishResults(Answer $answer): array
    {
        return array_map(static function (Answer $result): PublishedMessage|DelayQueueException {
            $problem = $result->field('error');
            return $problem === null ? $result->as(PublishedMessage::class) : Problem::ofPart($problem);
        }, $answer->objects('messages'));
    }

    /**
     * @template T of DelayQueueException
     * @param list<PublishedMessage|DelayQueueException> $results
     * @param class-string<T> $class
     * @return list<T>
     */
    private static function refusals(array $results, string $class): array
    {
        return array_values(array_filter($results, static fn ($result) => $result instanceof $class));
    }

    /**
     * @template T
     * @param list<T> $results
     * @param array<mixed> $asked
     * @return list<T>
     */
    private static function counted(array $results, array $asked): array
    {
        $numbers = count($results) . ' results were answered, and not ' . count($asked);
        return count($results) === count($asked) ? $results : throw new DelayQueueException('UNEXPECTED_ANSWER', "$numbers.", 200);
    }

    private static function path(string $topic, string $rest): string
    {
        return '/v1/topics/' . rawurlencode($topic) . $rest;
    }

    private static function message(string $topic, string $id, ?string $key, string $rest = ''): string
    {
        $query = $key === null ? '' : '?key=' . rawurlencode($key);
        return self::path($topic, '/messages/' . rawurlencode($id) . $rest . $query);
    }
}
