<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\ForbiddenException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\ListSchedulesException;
use NestjsDelayQueue\Exception\UnauthorizedException;
use NestjsDelayQueue\Exception\UntrustedCertificateException;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\NewSchedule;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\Worker;

return [
    'B30' => function (): void {
        foreach (['401' => UnauthorizedException::class, '403' => ForbiddenException::class] as $what => $class) {
            $code = $what === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN';
            $queue = odd((string) $what, 30);
            refused($class, $code, $what, static fn () => $queue->publish(topic(30), 1));
            refused($class, $code, $what, static fn () => quiet($queue, 30, static fn () => null)->run());
        }
    },

    'B31' => function (): void {
        $class = DelayQueueException::class;
        refused($class, 'UNEXPECTED_ANSWER', 400, static fn () => odd('400-twice', 31)->publish(topic(31), 1));
        publishOne(31);
        $worker = quiet(odd('400-twice', 51), 31, static function () use (&$worker): void {
            $worker->stop();
        });
        $worker->run();
        same(1, client()->stats(topic(31))->counters['acked'], 'how many are acknowledged');
    },

    'B32' => function (): void {
        $took = duration(static fn () => odd('503-once', 32)->publish(topic(32), 1));
        holds($took >= 2_000, "it was asked again after $took ms");
    },

    'B33' => function (): void {
        $published = odd('207-once', 33)->publishMany(topic(33), array_map(static fn ($i) => new NewMessage($i), [1, 2, 3]));
        same([3, 3], [count($published), client()->stats(topic(33))->counters['published']], 'how many are published');
    },

    'B34' => function (): void {
        $queue = new DelayQueue(variable('GATEWAY_UNTRUSTED_URL'), variable('GATEWAY_TOKEN'));
        $class = UntrustedCertificateException::class;
        refused($class, 'UNTRUSTED_CERTIFICATE', null, static fn () => $queue->publish(topic(34), 1));
        refused($class, 'UNTRUSTED_CERTIFICATE', null, static fn () => quiet($queue, 34, static fn () => null)->run());
    },

    'B35' => function (): void {
        publishOne(35, 1, attempts: 1);
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            $journal->write('begin');
            sleep(300);
        };
        $worker = new RunningWorker(client(), topic(35), $work, ['timeout' => '1s', 'lease' => '10s']);
        same('HandlerTimeoutError', failureOf(35)->name, 'the name of its failure');
        $worker->stop();
        same(1, count($worker->journal->lines('begin')), 'how often it has run');
    },

    'B36' => function (): void {
        publishOne(36, 1, attempts: 1);
        $worker = startedWith(36, static fn () => yield 1);
        same('UnexpectedValueException', failureOf(36)->name, 'the name of its failure');
        $worker->stop();
    },

    'B37' => function (): void {
        foreach (['one', 'deep', 'two'] as $payload) {
            client()->publish(topic(37), $payload, new PublishOptions(id: $payload));
        }
        $work = static fn (ReceivedMessage $message, Journal $journal) => $journal->write("end $message->payload");
        $worker = new RunningWorker(odd('deep', 37), topic(37), $work);
        eventually('the others are handled', static fn () => count($worker->journal->lines('end')) === 2);
        $isDead = static fn () => client()->get(topic(37), 'deep')->state === MessageState::Dead;
        eventually('it is a dead letter', $isDead);
        $worker->stop();
        $failure = client()->get(topic(37), 'deep')->failure;
        holds(str_contains($failure->message, 'nested deeper'), $failure->message);
        holds(str_contains(implode($worker->journal->lines('says')), 'nested deeper'), 'it is not logged');
    },

    'B38' => function (): void {
        publishOne(38);
        $worker = quiet(client(), 38, static function () use (&$worker): void {
            $worker->stop();
        });
        $worker->run();
        same(1, client()->stats(topic(38))->counters['acked'], 'how many are acknowledged');
    },

    'B39' => function (): void {
        foreach ([2 ** 53 + 1, -0.0] as $number) {
            $call = static fn () => publishOne(39, ['lines' => [['id' => $number]]]);
            $error = throws(InvalidArgumentException::class, $call);
            holds($error->errorCode === 'INVALID_ARGUMENT' && str_contains($error->detail, 'payload.lines[0].id'), $error->detail);
        }
        $numbers = [2 ** 53, 10 ** 17, 0.1, -12.5, 1e300];
        publishOne(39, $numbers);
        $message = receiveOne(client(), topic(39));
        same($numbers, $message->payload, 'what is received');
        $message->ack();
    },

    'B40' => function (): void {
        $good = variable('GATEWAY_TOKEN');
        $tokens = ['another', $good, null, $good, $good];
        $queue = new DelayQueue(variable('GATEWAY_URL'), static function () use (&$tokens): string {
            return array_shift($tokens) ?? throw new \LogicException('The server of tokens is away');
        });
        array_map(static fn () => $queue->publish(topic(40), 1), [1, 2, 3]);
        same([], $tokens, 'the tokens that are left');
    },

    'B41' => function (): void {
        publishOne(41, 1, attempts: 1);
        $worker = startedWith(41, static fn () => throw new \LogicException('no such order'));
        $failure = failureOf(41);
        $worker->stop();
        same(['LogicException', 'no such order'], [$failure->name, $failure->message], 'its name and text');
        holds(str_contains($failure->stack, 'rules.php'), $failure->stack);
        holds(str_contains(implode($worker->journal->lines('says')), 'LogicException: no such order'), 'it is not logged');
    },

    'B42' => function (): void {
        foreach ([[], ['consumer' => 'mails-1']] as $options) {
            $name = $options['consumer'] ?? gethostname();
            $worker = new RunningWorker(client(), topic(42), static fn () => null, $options);
            $receivers = static fn () => client()->explain(topic(42), 'none')->facts['receivers'];
            $names = static fn () => array_map(static fn ($one) => $one->consumer, $receivers());
            eventually("$name is known", static fn () => in_array($name, $names(), true));
            $worker->stop();
        }
        $worker = new Worker(client(), topic(42), static fn () => null, consumer: str_repeat('x', 129));
        refused(InvalidArgumentException::class, 'INVALID_ARGUMENT', 400, $worker->run(...));
    },

    'B43' => function (): void {
        client()->publishMany(topic(43), array_map(static fn ($i) => new NewMessage($i), range(0, 19)));
        $work = static function (ReceivedMessage $message, Journal $journal): void {
            if ($message->payload === 0) {
                client()->settle(Settlement::ack($message->receipt));
            }
            $journal->write('begin');
            sleep(300);
        };
        $options = ['concurrency' => 20, 'shutdownTimeout' => 0, 'lease' => '5m'];
        $worker = new RunningWorker(odd('19-settles', 43), topic(43), $work, $options);
        eventually('all have begun', static fn () => count($worker->journal->lines('begin')) === 20);
        $worker->stop();
        $stats = client()->stats(topic(43));
        same([1, 19, 0], [$stats->counters['acked'], $stats->scheduled, $stats->inFlight], 'what became of them');
    },

    'B44' => function (): void {
        client()->schedules->put(topic(44), new NewSchedule(topic(44), 1, every: '1h'));
        $error = throws(ListSchedulesException::class, static fn () => odd('failed-schedules', 44)->schedules->list());
        [$failed] = $error->failed;
        $told = [$failed->topic, $failed->ids, $failed->error->errorCode];
        same(['away', ['nightly'], 'BROKER_UNAVAILABLE'], $told, 'which are not told');
        holds(in_array(topic(44), array_column($error->schedules, 'id'), true), 'the others are missing');
        client()->schedules->remove(topic(44));
    },

    'B45' => function (): void {
        $queue = odd('more', 45);
        same('45', $queue->publish(topic(45), 1, new PublishOptions(id: '45'))->id, 'what is published');
        same(MessageState::Scheduled, $queue->get(topic(45), '45')->state, 'its state');
        same(0, $queue->stats(topic(45))->dead, 'how many are dead');
        holds($queue->explain(topic(45), '45')->advice !== '', 'there is no advice');
        $worker = quiet($queue, 45, static function () use (&$worker): void {
            $worker->stop();
        });
        $worker->run();
        same(1, client()->stats(topic(45))->counters['acked'], 'how many are acknowledged');
        $queue->schedules->put(topic(45), new NewSchedule(topic(45), 1, every: '1h'));
        same([topic(45)], array_column($queue->schedules->list(topic(45)), 'id'), 'the schedules');
        same(true, $queue->schedules->remove(topic(45)), 'whether it is removed');
    },
];

/** A client by a proxy that does something odd. */
function odd(string $what, int $number): DelayQueue
{
    return new DelayQueue(variable('GATEWAY_ODD_URL') . "/$what/" . topic($number), variable('GATEWAY_TOKEN'));
}

function publishOne(int $number, mixed $payload = 1, mixed ...$options): void
{
    client()->publish(topic($number), $payload, new PublishOptions(...['id' => "$number", ...$options]));
}

function quiet(DelayQueue $queue, int $number, \Closure $handler): Worker
{
    return new Worker($queue, topic($number), $handler, log: static fn () => null);
}

function startedWith(int $number, \Closure $handler): RunningWorker
{
    return new RunningWorker(client(), topic($number), $handler);
}

/** Why the message is a dead letter. */
function failureOf(int $number): \stdClass
{
    $isDead = static fn () => client()->get(topic($number), "$number")->state === MessageState::Dead;
    eventually('it is a dead letter', $isDead);
    return client()->get(topic($number), "$number")->failure;
}
