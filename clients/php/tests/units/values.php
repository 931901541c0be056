<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Backoff;
use NestjsDelayQueue\CancelResult;
use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Answer;
use NestjsDelayQueue\Internal\Json;
use NestjsDelayQueue\Internal\Time;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\OnDuplicate;
use NestjsDelayQueue\PublishedMessage;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\SettleStatus;
use NestjsDelayQueue\Worker;

return [
    'durations are read' => function (): void {
        $expected = [
            '30s' => 30_000,
            '1h30m' => 5_400_000,
            '1.5h' => 5_400_000,
            '2 d' => 172_800_000,
            '0.5ms' => 1,
            ...array_fill_keys(['n 250', '3M', '1 s!', '-1s', 'soon', '1h 5x', '1h,30m', ''], null),
        ];
        foreach ($expected as $text => $milliseconds) {
            $text = (string) $text;
            if ($milliseconds === null) {
                $error = throws(InvalidArgumentException::class, static fn () => Time::milliseconds('wait', $text));
                holds(str_contains($error->detail, 'wait must be a duration'), $error->detail);
            } else {
                same($milliseconds, Time::milliseconds('wait', $text), "'$text'");
            }
        }
        same(1_500, Time::milliseconds('wait', 1_500), 'milliseconds');
        throws(InvalidArgumentException::class, static fn () => Time::milliseconds('wait', -1));
    },

    'a DateInterval is a duration from now' => function (): void {
        same(86_400_000 + 3_600_000, Time::duration('delay', new \DateInterval('P1DT1H')), 'a day and an hour');
        $month = Time::duration('delay', new \DateInterval('P1M'));
        holds($month >= 28 * 86_400_000 && $month <= 31 * 86_400_000, "a month has $month ms");
        $past = (new \DateTimeImmutable('2026-01-02'))->diff(new \DateTimeImmutable('2026-01-01'));
        throws(InvalidArgumentException::class, static fn () => Time::duration('delay', $past));
    },

    'a time is never sent earlier than it is' => function (): void {
        $zone = new \DateTimeZone('Europe/Berlin');
        $sent = static fn (string $time) => Time::moment(new \DateTimeImmutable($time, $zone));
        $second = 1_798_131_600_000;
        same($second, $sent('2026-12-24T18:00'), 'a whole second');
        same($second + 123, $sent('2026-12-24T18:00:00.123'), 'a millisecond');
        same($second + 124, $sent('2026-12-24T18:00:00.123001'), 'a microsecond more');
        same($second + 1_000, $sent('2026-12-24T18:00:00.999001'), 'nearly a second');
        $given = [123, '2026-12-24', null];
        same($given, array_map(Time::moment(...), $given), 'what stays as it is');
        $text = '2026-12-24T17:00:00.123Z';
        same(new \DateTimeImmutable($text), Time::parse($text), 'what is read');
    },

    'options are sent as the gateway takes them' => function (): void {
        $options = new PublishOptions(
            id: 'a',
            delay: new \DateInterval('PT1S'),
            headers: [],
            tags: [3 => 't'],
            backoff: Backoff::exponential('1s', factor: 2.5, maxDelay: new \DateInterval('PT1M')),
            onDuplicate: OnDuplicate::Earliest,
            replicas: 1,
        );
        $expected = '{"payload":null,"id":"a","delay":1000,' .
            '"backoff":{"type":"exponential","delay":"1s","factor":2.5,"maxDelay":60000},' .
            '"headers":{},"tags":["t"],"onDuplicate":"earliest","replicas":{"min":1,"timeout":"1s"}}';
        same($expected, json_encode((new NewMessage(null, $options))->toFields()), 'a message');
        same('{"type":"steps","delays":["1s",5]}', json_encode(Backoff::steps(['1s', 5])), 'a backoff');
        $settlement = Settlement::retry('r', delay: 5)->toFields();
        same(['receipt' => 'r', 'outcome' => 'retry', 'delay' => 5], $settlement, 'a settlement');
    },

    'what is no option is refused' => function (): void {
        $url = 'https://queue.example.com';
        foreach ([['concurrency' => 0], ['lease' => 999], ['wait' => 0], ['timeout' => 'soon']] as $options) {
            $worker = static fn () => new Worker(new DelayQueue($url), 't', static fn () => null, ...$options);
            throws(InvalidArgumentException::class, $worker);
        }
        foreach ([['queue.example.com'], ['https://user@queue.example.com'], [$url, "a\r\nb"]] as $arguments) {
            throws(InvalidArgumentException::class, static fn () => new DelayQueue(...$arguments));
        }
        throws(InvalidArgumentException::class, static fn () => new DelayQueue($url, timeout: 0));
        throws(InvalidArgumentException::class, static fn () => new DelayQueue($url, retryFor: 100_001));
    },

    'JSON keeps objects and lists apart' => function (): void {
        $text = '{"object":{},"list":[],"0":1,"":[{}],"text":"/é\u2028🎉"}';
        same($text, Json::encode((array) Json::decode($text)), 'what was decoded and encoded');
        $error = throws(InvalidArgumentException::class, static fn () => Json::encode(['payload' => "\xff"]));
        same('SERIALIZATION', $error->errorCode, 'the code');
        same(null, Json::decode('<html>'), 'what is no JSON');
    },

    'a number arrives as it is, or is refused with its place' => function (): void {
        foreach ([2 ** 53 + 1, -(2 ** 53) - 1, 2 ** 60, PHP_INT_MAX, -0.0] as $number) {
            $call = static fn () => Json::encode(['payload' => ['lines' => [['id' => 1], ['id' => $number]]]]);
            holds(str_contains(throws(InvalidArgumentException::class, $call)->detail, "'payload.lines[1].id'"), show($number));
        }
        foreach ([2 ** 53, 2 ** 53 + 2, 10 ** 17, -(10 ** 18), 1e20, 0.1, '9007199254740993 -0', 0] as $number) {
            same($number, Json::decode(Json::encode([$number]))[0], 'a number that arrives');
        }
    },

    'JSON that PHP refuses is read all the same' => function (): void {
        same(["\u{fffd}", '🎉', '\ud800'], Json::decode('["\ud800","\ud83c\udf89","\\\\ud800"]'), 'half a character');
        same(1, (new Answer(Json::decode('{"n":1,"payload":{"\u0000a":2}}')))->field('n'), 'a name that begins with NUL');
        $deep = str_repeat('[', 2_000) . str_repeat(']', 2_000);
        same($deep, Json::encode(['a' => Json::decode($deep)]) === "{\"a\":$deep}" ? $deep : '', 'a deep list');
        same("a\u{fffd}", Json::cleanText('aéb', 2), 'text that was cut within a character');
    },

    'answers are read with their types' => function (): void {
        $fields = [
            'id' => 'a', 'topic' => 't', 'partition' => 0, 'dueAt' => '2026-12-24T17:00:00.123Z', 'duplicate' => false,
            'more' => 'of a newer gateway',
        ];
        $read = static fn (array $other) => (new Answer((object) [...$fields, ...$other]))->as(PublishedMessage::class);
        same(new \DateTimeImmutable('2026-12-24T17:00:00.123Z'), $read([])->dueAt, 'a time');
        same(2, $read(['partition' => 2.0])->partition, 'an integer that was calculated');
        $wrong = ['id' => 1, 'partition' => '0', 'dueAt' => 'now', 'duplicate' => 0, 'topic' => null];
        foreach ($wrong as $name => $value) {
            $error = throws(DelayQueueException::class, static fn () => $read([$name => $value]));
            same('UNEXPECTED_ANSWER', $error->errorCode, "the code for $name");
            holds(str_contains($error->detail, "\$$name"), $error->detail);
        }
        $answer = new Answer((object) ['status' => 'stale', 'list' => (object) []]);
        same(SettleStatus::Stale, $answer->enum('status', SettleStatus::class), 'an enum');
        throws(DelayQueueException::class, static fn () => $answer->enum('status', CancelResult::class));
        throws(DelayQueueException::class, static fn () => $answer->list('list'));
    },

    'what is printed has no token' => function (): void {
        $queue = new DelayQueue('https://queue.example.com', 'secret-token');
        ob_start();
        var_dump($queue);
        print_r($queue);
        holds(!str_contains((string) ob_get_clean(), 'secret-token'), 'the token was printed');
    },
];
