<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Backoff;
use NestjsDelayQueue\CancelResult;
use NestjsDelayQueue\Exception\RetryLaterException;
use NestjsDelayQueue\Exception\UnrecoverableException;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Settlement;

return [
    'B25' => function (): void {
        $queue = client();
        $retried = new PublishOptions(backoff: Backoff::fixed('100ms'));
        array_map(static fn ($i) => $queue->publish(topic(25), "slow $i"), range(1, 9));
        array_map(static fn ($how) => $queue->publish(topic(25), $how, $retried), ['throws', 'later', 'dies']);
        $queue->publish(topic(25), 'gives up', new PublishOptions(id: 'given-up'));
        $worker = new RunningWorker(client(), topic(25), handle(...), ['concurrency' => 3]);
        eventually('all are handled', fn () => count($worker->journal->lines('end')) >= 12);
        eventually('all are settled', fn () => $queue->stats(topic(25))->counters['acked'] === 12);
        $worker->stop();

        same(3, mostAtOnce($worker->journal->lines()), 'the most messages at once');
        $again = $worker->journal->lines('end');
        foreach (['throws 2', 'later 1', 'dies 2', 'slow 1 1'] as $line) {
            same(1, count(array_keys($again, "end $line", true)), "how often '$line' was handled to its end");
        }
        $dead = $queue->get(topic(25), 'given-up');
        same(MessageState::Dead, $dead->state, 'what is given up');
        holds(str_contains($dead->failure->message, 'no use'), 'its reason is ' . show($dead->failure));
        $stats = $queue->stats(topic(25));
        same([0, 0, 1], [$stats->scheduled, $stats->inFlight, $stats->dead], 'what is left');
        endsHandlersThatTakeTooLong();
    },

    'B26' => function (): void {
        $queue = client();
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write("begin $message->receipt");
            sleep(16);
            $journal->write("end $message->payload");
            $message->payload === 'slow' || throw new \RuntimeException('It failed');
        };
        $workers = [];
        foreach (['slow' => 26, 'lost' => 51, 'cancelled' => 58] as $name => $number) {
            $queue->publish(topic($number), $name, new PublishOptions(id: $name));
            // The second process would have the message as soon as its lease has ended.
            $options = ['lease' => '10s', 'concurrency' => 2];
            $workers[$name] = new RunningWorker(client(), topic($number), $work, $options);
        }
        foreach ($workers as $name => $worker) {
            eventually("'$name' has begun", fn () => $worker->journal->lines('begin') !== []);
        }
        // Somebody else has settled it: the lease is lost, and its handler is ended.
        [$begin] = $workers['lost']->journal->lines('begin');
        $queue->settle(Settlement::ack(substr($begin, strlen('begin '))));
        same(CancelResult::InFlight, $queue->cancel(topic(58), 'cancelled'), 'what came of the cancel');

        foreach (['slow', 'cancelled'] as $name) {
            eventually("'$name' is handled", fn () => $workers[$name]->journal->lines('end') === ["end $name"]);
        }
        foreach ([26, 58] as $number) {
            eventually('it is settled', fn () => $queue->stats(topic($number))->inFlight === 0);
        }
        array_map(static fn (RunningWorker $worker) => $worker->stop(), $workers);
        foreach ($workers as $name => $worker) {
            same(1, count($worker->journal->lines('begin')), "how often '$name' was delivered");
            same($name === 'slow' ? 0 : 1, count($worker->journal->lines('says')), "how much is said of '$name'");
        }
        same(1, $queue->stats(topic(26))->counters['acked'], 'how many were acknowledged');
        same([], $workers['lost']->journal->lines('end'), 'what a handler has done after its lease was lost');
        same([0, 0], [$queue->stats(topic(58))->scheduled, $queue->stats(topic(58))->dead], 'what is left of the cancelled');
    },

    'B27' => function (): void {
        $queue = client();
        array_map(static fn ($i) => $queue->publish(topic(27), $i), range(1, 6));
        // Each ends after it was told to.
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write("begin $message->id");
            pcntl_sigtimedwait([SIGTERM], $info, 60);
            posix_kill(posix_getpid(), SIGTERM);
            usleep(300_000);
            $journal->write("end $message->id");
        };
        $worker = new RunningWorker(client(), topic(27), $work, ['concurrency' => 2, 'shutdownTimeout' => '50s']);
        eventually('two have begun', fn () => count($worker->journal->lines('begin')) === 2);
        $worker->stop();
        same(2, count($worker->journal->lines('begin')), 'how many have begun');
        same(2, count($worker->journal->lines('end')), 'how many have ended');
        same([], $worker->journal->lines('says'), 'what it says');
        $stats = $queue->stats(topic(27));
        same(2, $stats->counters['acked'], 'how many are acknowledged');
        same([4, 0], [$stats->scheduled, $stats->inFlight], 'what waits, and what is in flight');
        // A worker that waits for messages stops at once.
        $idle = new RunningWorker(client(), topic(52), $work, ['wait' => '60s', 'shutdownTimeout' => '90s']);
        usleep(500_000);
        $took = duration(fn () => $idle->stop());
        holds($took < 30_000, "a worker that waited has stopped after $took ms");
        releasesWhatDoesNotEnd();
        settlesThoughTheWorkerIsKilled();
    },

    'B28' => function (): void {
        $queue = client();
        $work = static fn (ReceivedMessage $message, Journal $journal) => $journal->write("end $message->payload");
        $options = ['concurrency' => 2, 'lease' => '3s'];
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

/** Does what the payload says, the first time. */
function handle(ReceivedMessage $message, Journal $journal): void
{
    $journal->write("begin $message->payload $message->attempt");
    if (str_starts_with($message->payload, 'slow')) {
        eventually('three are handled at once', fn () => count($journal->lines('begin')) >= 3);
        usleep(200_000);
    } elseif ($journal->lines("failed $message->payload") === []) {
        $journal->write("failed $message->payload");
        match ($message->payload) {
            'throws' => throw new \LogicException("\xff is no UTF-8"),
            'later' => throw new RetryLaterException('200ms', 'not yet'),
            'gives up' => throw new UnrecoverableException('no use'),
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

function endsHandlersThatTakeTooLong(): void
{
    $queue = client();
    $queue->publish(topic(53), 1, new PublishOptions(backoff: Backoff::fixed('100ms')));
    $work = static function (ReceivedMessage $message, Journal $journal): void {
        sleep($message->attempt === 1 ? 300 : 0);
        $journal->write("end $message->attempt");
    };
    $worker = new RunningWorker(client(), topic(53), $work, ['timeout' => '3s']);
    eventually('it has come again', fn () => $worker->journal->lines('end') === ['end 2']);
    $worker->stop();
}

function releasesWhatDoesNotEnd(): void
{
    $queue = client();
    $queue->publish(topic(54), 1);
    $work = static function (ReceivedMessage $message, Journal $journal): void {
        $journal->write('begin');
        sleep(300);
    };
    $worker = new RunningWorker(client(), topic(54), $work, ['shutdownTimeout' => '500ms']);
    eventually('it has begun', fn () => $worker->journal->lines('begin') !== []);
    $worker->stop();
    $message = receiveOne($queue, topic(54));
    same(1, $message->attempt, 'the attempt of what was released');
    $message->ack();
}

function settlesThoughTheWorkerIsKilled(): void
{
    $queue = client();
    $queue->publish(topic(57), 1);
    $work = static function (ReceivedMessage $message, Journal $journal): void {
        $journal->write('begin');
        sleep(2);
    };
    $worker = new RunningWorker(client(), topic(57), $work);
    eventually('it has begun', fn () => $worker->journal->lines('begin') !== []);
    $worker->kill();
    eventually('it is acknowledged', fn () => $queue->stats(topic(57))->counters['acked'] === 1);
    // No process is left that would handle another one.
    $queue->publish(topic(57), 2);
    same(2, receiveOne($queue, topic(57))->payload, 'what is received');
}
