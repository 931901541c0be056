<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Backoff;
use NestjsDelayQueue\GiveUp;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\RetryLater;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\WorkerOptions;

return [
    'B25' => function (): void {
        $queue = client();
        $retried = new PublishOptions(backoff: Backoff::fixed('100ms'));
        array_map(static fn ($i) => $queue->publish(topic(25), "slow $i"), range(1, 9));
        array_map(static fn ($how) => $queue->publish(topic(25), $how, $retried), ['throws', 'later', 'dies']);
        $queue->publish(topic(25), 'gives up', new PublishOptions(id: 'given-up'));
        $options = new WorkerOptions(concurrency: 3, messagesPerProcess: 2, log: silent());
        $worker = new RunningWorker(client(), topic(25), handle(...), $options);
        eventually('all are handled', fn () => count($worker->journal->lines('end')) >= 12);
        eventually('all are settled', fn () => $queue->stats(topic(25))->counters['acked'] === 12);
        $worker->stop();

        same(3, mostAtOnce($worker->journal->lines()), 'the most messages at once');
        $again = $worker->journal->lines('end');
        foreach (['throws 2', 'later 2', 'dies 2', 'slow 1 1'] as $line) {
            same(1, count(array_keys($again, "end $line", true)), "how often '$line' was handled to its end");
        }
        $dead = $queue->get(topic(25), 'given-up');
        same(MessageState::Dead, $dead->state, 'what is given up');
        holds(str_contains($dead->failure->message, 'no use'), 'its reason is ' . show($dead->failure));
        $stats = $queue->stats(topic(25));
        same([0, 0, 1], [$stats->scheduled, $stats->inFlight, $stats->dead], 'what is left');
        worksWithoutProcesses();
        endsHandlersThatTakeTooLong();
    },

    'B26' => function (): void {
        $queue = client();
        $queue->publish(topic(26), 'slow');
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write("begin $message->receipt");
            sleep($message->topic === topic(26) ? 9 : 5);
            $journal->write("end $message->payload");
        };
        $options = new WorkerOptions(lease: '4s', log: silent());
        $worker = new RunningWorker(client(), topic(26), $work, $options);
        // One whose lease is lost: somebody else has settled it. Its handler is ended.
        $queue->publish(topic(31), 'lost');
        $loser = new RunningWorker(client(), topic(31), $work, $options);
        eventually('it has begun', fn () => $worker->journal->lines('begin') !== []);
        eventually('the other has begun', fn () => $loser->journal->lines('begin') !== []);
        $queue->settle([Settlement::ack(substr($loser->journal->lines('begin')[0], strlen('begin ')))]);

        eventually('it is handled', fn () => $worker->journal->lines('end') !== []);
        eventually('it is settled', fn () => $queue->stats(topic(26))->inFlight === 0);
        same([], $queue->receive(topic(26), wait: 0), 'what comes again');
        $worker->stop();
        $loser->stop();
        same(1, count($worker->journal->lines('begin')), 'how often it was delivered');
        same(1, $queue->stats(topic(26))->counters['acked'], 'how many were acknowledged');
        same([], $loser->journal->lines('end'), 'what a handler has done after its lease was lost');
    },

    'B27' => function (): void {
        $queue = client();
        array_map(static fn ($i) => $queue->publish(topic(27), $i), range(1, 6));
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write("begin $message->id");
            usleep(2_000_000);
            $journal->write("end $message->id");
        };
        $worker = new RunningWorker(client(), topic(27), $work, new WorkerOptions(concurrency: 2, log: silent()));
        eventually('two have begun', fn () => count($worker->journal->lines('begin')) === 2);
        $worker->stop();
        same(2, count($worker->journal->lines('begin')), 'how many have begun');
        same(2, count($worker->journal->lines('end')), 'how many have ended');
        $stats = $queue->stats(topic(27));
        same(2, $stats->counters['acked'], 'how many are acknowledged');
        same([4, 0], [$stats->scheduled, $stats->inFlight], 'what waits, and what is in flight');
        // A worker that waits for messages stops at once.
        $idle = new RunningWorker(client(), topic(32), $work, new WorkerOptions(log: silent()));
        usleep(500_000);
        $took = duration(fn () => $idle->stop());
        holds($took < 15_000, "a worker that waited has stopped after $took ms");
        releasesWhatDoesNotEnd();
    },

    'B28' => function (): void {
        $queue = client();
        $work = static fn (ReceivedMessage $message, Journal $journal) => $journal->write("end $message->payload");
        $options = new WorkerOptions(concurrency: 2, lease: '3s', log: silent());
        $worker = new RunningWorker(client('GATEWAY_BROKEN_URL'), topic(28), $work, $options);
        for ($i = 0; $i < 18; $i++) {
            $queue->publish(topic(28), $i);
            usleep(400_000);
        }
        $expected = array_map(static fn ($i) => "end $i", range(0, 17));
        eventually('all are handled', fn () => array_diff($expected, $worker->journal->lines('end')) === []);
        eventually('all are settled', fn () => $queue->stats(topic(28))->counters['acked'] === 18);
        $worker->stop();
    },
];

function silent(): \Closure
{
    return static function (string $line): void {
    };
}

/** Does what the payload says, the first time. */
function handle(ReceivedMessage $message, Journal $journal): void
{
    $journal->write("begin $message->payload $message->attempt");
    usleep(str_starts_with($message->payload, 'slow') ? 500_000 : 0);
    if ($message->attempt === 1 && !str_starts_with($message->payload, 'slow')) {
        $journal->write("failed $message->payload");
        match ($message->payload) {
            'throws' => throw new \LogicException("\xff is no UTF-8"),
            'later' => throw new RetryLater('200ms', 'not yet'),
            'gives up' => throw new GiveUp('no use'),
            'dies' => posix_kill(getmypid(), SIGKILL),
        };
    }
    $journal->write("end $message->payload $message->attempt");
}

/** @param list<string> $lines in the order in which they were written */
function mostAtOnce(array $lines): int
{
    $running = $most = 0;
    foreach ($lines as $line) {
        $running += ['begin' => 1, 'end' => -1, 'failed' => -1][strtok($line, ' ')] ?? 0;
        $most = max($most, $running);
    }
    return $most;
}

/** A worker in a PHP that cannot fork. */
function worksWithoutProcesses(): void
{
    $queue = client();
    $queue->publish(topic(36), 'fails', new PublishOptions(backoff: Backoff::fixed('100ms')));
    $program = escapeshellarg(dirname(__DIR__) . '/support/without-processes.php');
    $php = escapeshellarg(PHP_BINARY);
    exec("$php -d disable_functions=pcntl_fork $program " . escapeshellarg(topic(36)) . ' 2>&1', $output, $code);
    $expected = ['refused: INVALID_ARGUMENT', 'fails 1', 'fails 2'];
    same([0, $expected], [$code, $output], 'what a worker without processes has printed');
    same(1, $queue->stats(topic(36))->counters['acked'], 'how many it has acknowledged');
}

function endsHandlersThatTakeTooLong(): void
{
    $queue = client();
    $queue->publish(topic(33), 1, new PublishOptions(backoff: Backoff::fixed('100ms')));
    $work = static function (ReceivedMessage $message, Journal $journal): void {
        sleep($message->attempt === 1 ? 60 : 0);
        $journal->write("end $message->attempt");
    };
    $worker = new RunningWorker(client(), topic(33), $work, new WorkerOptions(handlerTimeout: '1s', log: silent()));
    eventually('it has come again', fn () => $worker->journal->lines() === ['end 2']);
    $worker->stop();
}

function releasesWhatDoesNotEnd(): void
{
    $queue = client();
    $queue->publish(topic(34), 1);
    $work = static function (ReceivedMessage $message, Journal $journal): void {
        $journal->write('begin');
        sleep(60);
    };
    $worker = new RunningWorker(client(), topic(34), $work, new WorkerOptions(stopTimeout: '500ms', log: silent()));
    eventually('it has begun', fn () => $worker->journal->lines('begin') !== []);
    $took = duration(fn () => $worker->stop());
    holds($took < 20_000, "the worker has stopped after $took ms");
    $message = receiveOne($queue, topic(34));
    same(1, $message->attempt, 'the attempt of what was released');
    $message->ack();
}
