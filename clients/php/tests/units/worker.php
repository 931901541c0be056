<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\UnrecoverableException;
use NestjsDelayQueue\Internal\Answer;
use NestjsDelayQueue\Internal\Worker\Loop;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Exception\RetryLaterException;

return [
    'a handler is ended if nobody confirms its lease in time' => function (): void {
        // It answers the first request, and nothing after that.
        $server = new CannedServer([messages()]);
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write('begin');
            sleep(300);
            $journal->write('end');
        };
        $worker = new RunningWorker(new DelayQueue($server->url), 't', $work, ['lease' => '1s']);
        eventually('its lease is lost', fn () => count($worker->journal->lines("says Message 'm1' has lost its lease")) === 1);
        holds(in_array('POST /v1/extend', $server->asked(), true), 'the lease was not to be extended');
        $worker->stop();
        same([], $worker->journal->lines('end'), 'what the handler has written at its end');
    },

    'one lease that is refused does not keep the others from being renewed' => function (): void {
        $refused = answer(404, '{"code":"TOPIC_NOT_SERVED","detail":"It is not served.","status":404}');
        $extended = answer(200, '{"results":[{"receipt":"r","status":"extended"}]}');
        $server = new CannedServer([messages(), str_replace('"r1"', '"r2"', messages()), $refused, $refused, $extended]);
        $work = static fn () => sleep(300);
        $options = ['lease' => '18s', 'concurrency' => 2, 'shutdownTimeout' => 0];
        $worker = new RunningWorker(new DelayQueue($server->url), 't', $work, $options);
        eventually('leases are renewed', fn () => count($server->asked()) >= 5);
        $receipts = array_map(static function ($request) {
            preg_match_all('/"receipt":"(\w+)"/', $request, $found);
            return $found[1];
        }, array_slice($server->requests(), 2, 3));
        sort($receipts[0]);
        $alone = [...$receipts[1], ...$receipts[2]];
        sort($alone);
        same([['r1', 'r2'], 1, ['r1', 'r2']], [$receipts[0], count($receipts[1]), $alone], 'what is extended');
        $worker->stop();
    },

    'one message that cannot be released does not keep the others from it' => function (): void {
        $refused = answer(404, '{"code":"TOPIC_NOT_SERVED","detail":"It is not served.","status":404}');
        $settled = answer(200, SETTLED);
        $server = new CannedServer([messages(), str_replace('"r1"', '"r2"', messages()), $refused, $refused, $settled]);
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write('begin');
            sleep(300);
        };
        $options = ['lease' => 3_600_000, 'concurrency' => 2, 'shutdownTimeout' => 0];
        $worker = new RunningWorker(new DelayQueue($server->url), 't', $work, $options);
        eventually('both have begun', fn () => count($worker->journal->lines('begin')) === 2);
        $worker->stop();
        $receipts = array_map(static function ($request) {
            preg_match_all('/"receipt":"(\w+)","outcome":"release"/', $request, $found);
            sort($found[1]);
            return $found[1];
        }, array_slice($server->requests(), 2));
        same(['r1', 'r2'], $receipts[0], 'what is released together');
        same([1, 1], array_map(count(...), array_slice($receipts, 1)), 'how many are released alone');
        same(1, count($worker->journal->lines('says What was not handled comes again')), 'how often it is said');
    },

    'a worker goes on after requests that nobody answers, or that are refused' => function (): void {
        $unavailable = '{"code":"RECEIVER_UNAVAILABLE","detail":"It is starting.","status":503}';
        $refused = '{"code":"INVALID_ARGUMENT","detail":"delay must be less","status":400}';
        // So long that no renewal comes between.
        $lease = 3_600_000;
        $server = new CannedServer([
            null, '', answer(503, $unavailable), messages(), '', answer(503, $unavailable), answer(200, SETTLED),
            messages(), answer(400, $refused), messages(), answer(200, SETTLED),
        ]);
        $queue = new DelayQueue($server->url, timeout: '4s');
        $work = static fn (ReceivedMessage $message, Journal $journal) => $journal->write('handled');
        $worker = new RunningWorker($queue, 't', $work, ['wait' => '100ms', 'lease' => $lease]);
        eventually('all is handled', fn () => count($server->asked()) > 11);
        $worker->stop();
        same(3, count($worker->journal->lines('handled')), 'how many were handled');
        $consumer = '"consumer":"' . gethostname() . '"';
        holds(str_contains($server->requests()[0], $consumer), 'who receives is not said');
        $says = $worker->journal->lines('says');
        holds(str_contains($says[0], 'is asked again: GATEWAY_UNREACHABLE: '), $says[0]);
        same('says The gateway answers again.', $says[1], 'what it says then');
        holds(str_contains($says[2], 'could not be settled (INVALID_ARGUMENT: delay must be less)'), $says[2]);
        $settles = array_filter($server->requests(), static fn ($one) => str_starts_with($one, 'POST /v1/settle'));
        same(3, count(array_unique(array_map(keyOf(...), $settles))), 'how many keys the settles have');
    },

    'a handler says what becomes of its message' => function (): void {
        $message = (new Answer(json_decode(RECEIVED)))->as(ReceivedMessage::class, ['queue' => new DelayQueue('http://127.0.0.1')]);
        $outcome = static fn (\Closure $handler) => Loop::outcome($handler, $message);
        same('ack', $outcome(static fn () => false)->outcome, 'the outcome of a handler that returns');

        $failed = $outcome(static fn () => throw new InvalidArgumentException('X', str_repeat('é', 5_000)));
        same(['retry', null], [$failed->outcome, $failed->delay], 'the outcome of a handler that throws');
        $error = $failed->toFields()['error'];
        same(InvalidArgumentException::class, $error['name'], 'its name');
        holds(str_starts_with($error['message'], 'X: é') && strlen($error['message']) < 4_100, 'its message');
        holds(str_contains($error['stack'], 'Stack trace:') || strlen($error['stack']) >= 4_096, 'its stack');
        foreach ([static fn () => yield 1, static fn () => new class { public function then(): void {} }] as $later) {
            same('retry', $outcome($later)->outcome, 'the outcome of what has still to be run');
        }

        $given = $outcome(static fn () => throw new UnrecoverableException('no use'));
        same(['dead', 'no use'], [$given->outcome, $given->toFields()['error']['message']], 'the outcome of one that gives up');
        $later = $outcome(static fn () => throw new RetryLaterException('1m', 'not yet'));
        same(['release', '1m'], [$later->outcome, $later->delay], 'a delay');
    },

    'a delay that is none puts the message off all the same' => function (): void {
        $refusal = answer(400, '{"code":"INVALID_ARGUMENT","detail":"delay must be a duration","status":400}');
        $server = new CannedServer([messages(), $refusal, answer(200, SETTLED)]);
        $work = static fn () => throw new RetryLaterException('soon', 'not yet');
        $worker = new RunningWorker(new DelayQueue($server->url), 't', $work, ['lease' => 3_600_000]);
        eventually('it is settled', fn () => count($server->asked()) > 3);
        $worker->stop();
        [, $first, $second] = $server->requests();
        holds(str_contains($first, '"outcome":"release","delay":"soon"}'), $first);
        holds(str_contains($second, '"outcome":"release","delay":30000}'), $second);
    },
];

function messages(): string
{
    return answer(200, '{"messages":[' . RECEIVED . ']}');
}
