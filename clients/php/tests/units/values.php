<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Backoff;
use NestjsDelayQueue\ClientOptions;
use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Json;
use NestjsDelayQueue\Internal\Time;
use NestjsDelayQueue\LocalTime;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\OnDuplicate;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\SettleStatus;
use NestjsDelayQueue\WorkerOptions;

return [
    'durations are read' => function (): void {
        $expected = [
            '30s' => 30_000,
            '1h30m' => 5_400_000,
            '1.5h' => 5_400_000,
            '2 days' => 172_800_000,
            '1 Week' => 604_800_000,
            '3 MIN' => 180_000,
            '1y' => 31_557_600_000,
            '0.5ms' => 1,
            ...array_fill_keys(['n 250', '3M', '-1s', 'soon', '1h 5x', '1h,30m', ''], null),
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
        $sent = static fn (string $time) => Time::optionalMoment(new \DateTimeImmutable($time, $zone));
        $second = 1_798_131_600_000;
        same($second, $sent('2026-12-24T18:00'), 'a whole second');
        same($second + 123, $sent('2026-12-24T18:00:00.123'), 'a millisecond');
        same($second + 124, $sent('2026-12-24T18:00:00.123001'), 'a microsecond more');
        same($second + 1_000, $sent('2026-12-24T18:00:00.999001'), 'nearly a second');
        $local = ['local' => '2026-12-24T18:00', 'timeZone' => 'Europe/Berlin'];
        same($local, Time::optionalMoment(new LocalTime('2026-12-24T18:00', 'Europe/Berlin')), 'a local time');
        $given = [123, '2026-12-24', null];
        same($given, array_map(Time::optionalMoment(...), $given), 'what stays as it is');
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
        $expected = '{"payload":null,"id":"a","delay":1000,"headers":{},"tags":["t"],' .
            '"backoff":{"type":"exponential","delay":"1s","factor":2.5,"maxDelay":60000},' .
            '"onDuplicate":"earliest","replicas":{"min":1,"timeout":"1s"}}';
        same($expected, json_encode((new NewMessage(null, $options))->toFields()), 'a message');
        same('{"type":"steps","delays":["1s",5]}', json_encode(Backoff::steps(['1s', 5])), 'a backoff');
        $settlement = Settlement::retry('r', delay: 5)->toFields();
        same(['receipt' => 'r', 'outcome' => 'retry', 'delay' => 5], $settlement, 'a settlement');
    },

    'what is no option is refused' => function (): void {
        throws(InvalidArgumentException::class, static fn () => new WorkerOptions(concurrency: 0));
        throws(InvalidArgumentException::class, static fn () => new WorkerOptions(lease: 999));
        throws(InvalidArgumentException::class, static fn () => new ClientOptions(retries: -1));
        throws(InvalidArgumentException::class, static fn () => new ClientOptions(timeout: 0));
        throws(InvalidArgumentException::class, static fn () => new DelayQueue('queue.example.com'));
        throws(InvalidArgumentException::class, static fn () => new DelayQueue('https://user@queue.example.com'));
        throws(InvalidArgumentException::class, static fn () => new DelayQueue('https://queue.example.com', "a\r\nb"));
    },

    'JSON keeps objects and lists apart' => function (): void {
        $text = '{"object":{},"list":[],"0":1,"":[{}],"text":"/é\u2028🎉"}';
        same($text, Json::encode(Json::decode($text)), 'what was decoded and encoded');
        $arrays = Json::toArrays(Json::decode('{"object":{},"list":[]}'));
        same(['object' => [], 'list' => []], $arrays, 'objects as arrays');
        $error = throws(InvalidArgumentException::class, static fn () => Json::encode(['payload' => "\xff"]));
        same('SERIALIZATION', $error->errorCode, 'the code');
        throws(DelayQueueException::class, static fn () => Json::decode('<html>'));
    },

    'JSON that PHP refuses is read all the same' => function (): void {
        same(["\u{fffd}", '🎉', '\ud800'], Json::decode('["\ud800","\ud83c\udf89","\\\\ud800"]'), 'half a character');
        same(1, (new Fields(Json::decode('{"n":1,"payload":{"\u0000a":2}}')))->int('n'), 'a name that begins with NUL');
        $deep = str_repeat('[', 2_000) . str_repeat(']', 2_000);
        same($deep, Json::encode(['a' => Json::decode($deep)]) === "{\"a\":$deep}" ? $deep : '', 'a deep list');
        same("a\u{fffd}", Json::cleanText('aéb', 2), 'text that was cut within a character');
    },

    'answers are read with their types' => function (): void {
        $fields = new Fields((object) ['status' => 'stale', 'n' => '1', 'at' => 'now', 'null' => null]);
        same(SettleStatus::Stale, $fields->enum('status', SettleStatus::class), 'an enum');
        same([null, null], [$fields->optionalTime('null'), $fields->optionalString('missing')], 'what is not there');
        $wrong = ['int' => 'n', 'time' => 'at', 'string' => 'missing', 'bool' => 'n', 'list' => 'n', 'map' => 'n'];
        foreach ($wrong as $type => $name) {
            $error = throws(DelayQueueException::class, static fn () => $fields->$type($name));
            same('INVALID_RESPONSE', $error->errorCode, "the code for $type");
        }
    },

    'what is printed has no token' => function (): void {
        $queue = new DelayQueue('https://queue.example.com', 'secret-token');
        ob_start();
        var_dump($queue);
        print_r($queue);
        holds(!str_contains((string) ob_get_clean(), 'secret-token'), 'the token was printed');
    },
];
