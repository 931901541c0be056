<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Internal\Fields;
use NestjsDelayQueue\Internal\Worker\HandlerCall;
use NestjsDelayQueue\Outcome;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\RetryLater;
use NestjsDelayQueue\WorkerOptions;

require __DIR__ . '/../support/processes.php';
require __DIR__ . '/../support/journal.php';
require __DIR__ . '/../support/running-worker.php';

const RECEIVED = '{"id":"m1","topic":"t","partition":0,"key":"m1","payload":{},"headers":{},"attempt":1,' .
    '"maxAttempts":5,"publishedAt":"2026-12-24T17:00:00.000Z","dueAt":"2026-12-24T17:00:00.000Z",' .
    '"leaseEndsAt":"2026-12-24T17:00:30.000Z","receipt":"r1"}';

return [
    'a handler is ended if nobody confirms its lease in time' => function (): void {
        // It answers the first request, and nothing after that.
        $server = new CannedServer([answer(200, '{"messages":[' . RECEIVED . ']}'), null]);
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write('begin');
            sleep(3);
            $journal->write('end');
        };
        $log = static fn (string $line) => null;
        $options = new WorkerOptions(lease: '1s', log: $log);
        $worker = new RunningWorker(new DelayQueue($server->url), 't', $work, $options);
        eventually('it has begun', fn () => $worker->journal->lines() === ['begin']);
        sleep(4);
        same(['begin'], $worker->journal->lines(), 'what the handler has written');
        $worker->stop();
    },

    'a handler says what becomes of its message' => function (): void {
        $message = ReceivedMessage::from(new Fields(json_decode(RECEIVED)), new DelayQueue('http://127.0.0.1'));
        $outcome = static fn (\Closure $handler) => HandlerCall::outcome($handler, $message);
        same(Outcome::Ack, $outcome(static fn () => false)->outcome, 'the outcome of a handler that returns');

        $failed = $outcome(static fn () => throw new InvalidArgumentException('X', str_repeat('é', 5_000)));
        same([Outcome::Retry, null], [$failed->outcome, $failed->delay], 'the outcome of a handler that throws');
        $beginning = InvalidArgumentException::class . ': X: é';
        holds(str_starts_with((string) $failed->reason, $beginning), 'the class is missing');
        holds(strlen((string) $failed->reason) < 2_100, 'the reason is too long');

        $later = $outcome(static fn () => throw new RetryLater(new \DateInterval('PT1M'), 'not yet'));
        same([Outcome::Retry, 60_000, 'not yet'], [$later->outcome, $later->delay, $later->reason], 'a delay');
        $never = $outcome(static fn () => throw new RetryLater('1 month', 'not yet'));
        same([Outcome::Retry, null], [$never->outcome, $never->delay], 'a retry with a delay that is none');
        holds(str_contains((string) $never->reason, 'delay must be a duration'), (string) $never->reason);
    },
];
