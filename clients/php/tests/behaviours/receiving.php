<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\ForbiddenException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Exception\UnauthorizedException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\LeaseStatus;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\SettleStatus;
use NestjsDelayQueue\Worker;

return [
    'B09' => function (): void {
        $queue = client();
        $queue->publish(topic(9), 1, new PublishOptions(id: 'done'));
        $message = receiveOne($queue, topic(9), '10s');
        same(SettleStatus::Settled, $message->ack(), 'the first settle');
        same(SettleStatus::Stale, $message->retry('too late'), 'the second settle');
        same([], $queue->receive(topic(9), wait: '12s'), 'what is received after the lease');
        same([0, 0], [$queue->stats(topic(9))->scheduled, $queue->stats(topic(9))->dead], 'what is left');
    },

    'B10' => function (): void {
        $queue = client();
        $queue->publish(topic(10), 1);
        $first = receiveOne($queue, topic(10));
        $waited = duration(function () use ($queue, $first): void {
            same(SettleStatus::Settled, $first->retry('not yet', '2s'), 'the retry');
            $second = receiveOne($queue, topic(10));
            same([$first->id, 2], [$second->id, $second->attempt], 'what comes again');
            $second->ack();
        });
        holds($waited >= 1_990, "it came again after $waited ms");
    },

    'B11' => function (): void {
        $queue = client();
        $queue->publish(topic(11), 1, new PublishOptions(id: 'hopeless'));
        $message = receiveOne($queue, topic(11));
        same(SettleStatus::Settled, $message->dead('the address does not exist'), 'the settle');
        $found = $queue->get(topic(11), 'hopeless');
        same(MessageState::Dead, $found->state, 'the state');
        $isTold = str_contains($found->failure->message, 'the address does not exist');
        holds($isTold, 'the reason is ' . show($found->failure));
        same(1, $queue->stats(topic(11))->dead, 'the number of dead letters');
    },

    'B12' => function (): void {
        $queue = client();
        $queue->publish(topic(12), 1);
        $first = receiveOne($queue, topic(12), '60s');
        same(SettleStatus::Settled, $first->release(), 'the settle');
        $second = receiveOne($queue, topic(12), '60s');
        same([$first->id, 1], [$second->id, $second->attempt], 'what comes again');
        $waited = duration(function () use ($queue, $second, &$third): void {
            same(SettleStatus::Settled, $second->release('1s'), 'the settle with a delay');
            $third = receiveOne($queue, topic(12), '60s');
        });
        holds($waited >= 1, "it came after $waited s");
        same([$first->id, 1], [$third->id, $third->attempt], 'what comes after the delay');
        $third->ack();
    },

    'B13' => function (): void {
        $queue = client();
        $queue->publish(topic(13), 1);
        $message = receiveOne($queue, topic(13), '10s');
        same(LeaseStatus::Extended, $message->extend('90s'), 'the extension');
        same([], $queue->receive(topic(13), wait: '12s'), 'what is received after the first lease');
        same(SettleStatus::Settled, $message->ack(), 'the settle');
        same(LeaseStatus::Stale, $message->extend('5s'), 'an extension of what is settled');
    },

    'B14' => function (): void {
        $queue = client();
        $queue->publish(topic(14), 1);
        $journal = new Journal();
        $receiver = fork(function () use ($journal): void {
            $message = receiveOne(client(), topic(14), '2s');
            $journal->write($message->receipt);
            sleep(300);
        });
        eventually('another process has received it', fn () => $journal->lines() !== []);
        posix_kill($receiver, SIGKILL);
        [$receipt] = $journal->lines();
        $journal->remove();
        $second = receiveOne($queue, topic(14));
        holds($second->receipt !== $receipt, 'the second receipt is the first');
        same(SettleStatus::Stale, $queue->settle(Settlement::ack($receipt)), 'a settle with the first receipt');
        same(SettleStatus::Settled, $second->ack(), 'a settle with the second receipt');
    },

    'B16' => function (): void {
        $queue = client('GATEWAY_LOSSY_URL');
        client()->publish(topic(16), 1);
        $message = receiveOne($queue, topic(16));
        same(SettleStatus::Settled, $message->ack(), 'a settle whose first answer was lost');
        same(SettleStatus::Stale, $message->ack(), 'another settle');
    },

    'B17' => function (): void {
        $queue = client();
        $queue->publish(topic(17), 'at most once');
        $message = receiveOne($queue, topic(17), 0);
        same(['at most once', 0], [$message->payload, $message->lease], 'what is received');
        same([], $queue->receive(topic(17), wait: '2s'), 'what comes again');
        $stats = $queue->stats(topic(17));
        same([0, 0], [$stats->scheduled, $stats->inFlight], 'what is left to settle');
    },

    'B18' => function (): void {
        $queue = client();
        $topics = [topic(18), topic(55)];
        // From then on the gateway has its partitions of both.
        array_map(static fn ($topic) => $queue->publish($topic, 'before'), $topics);
        receiveAll($topics, 2);
        foreach ([1, 0, 1, 0] as $i) {
            $queue->publish($topics[$i], $i);
        }
        usleep(500_000);
        $received = [];
        eventually('all are received', function () use ($queue, $topics, &$received): bool {
            foreach ($queue->receive($topics, wait: '5s', lease: '90s') as $message) {
                $received[] = $message->payload;
                $message->ack();
            }
            return count($received) === 4;
        });
        same([0, 0, 1, 1], $received, 'the order');
    },

    'B20' => function (): void {
        $queue = client();
        $waited = duration(fn () => same([], $queue->receive(topic(20), wait: '1s'), 'what is received of nothing'));
        holds($waited >= 990 && $waited < 30_000, "waiting for 1 s has taken $waited ms");
        $publisher = fork(function (): void {
            usleep(1_000_000);
            client()->publish(topic(20), 'here');
        });
        $waited = duration(function () use ($queue): void {
            [$message] = $queue->receive(topic(20), wait: '60s', lease: '60s');
            same('here', $message->payload, 'what is received');
            $message->ack();
        });
        pcntl_waitpid($publisher, $status);
        holds($waited < 40_000, "it was received after $waited ms");
    },

    'B21' => function (): void {
        $queue = client();
        $publish = static fn (DelayQueue $with) => static fn () => $with->publish(topic(21), 1);
        $soon = fn () => $queue->publish(topic(21), 1, new PublishOptions(delay: 'soon'));
        refused(InvalidArgumentException::class, 'INVALID_ARGUMENT', 400, $soon);
        foreach (['wrong', null] as $token) {
            $unknown = new DelayQueue(variable('GATEWAY_URL'), $token);
            refused(UnauthorizedException::class, 'UNAUTHORIZED', 401, $publish($unknown));
        }
        refused(ForbiddenException::class, 'FORBIDDEN', 403, $publish(client(token: 'GATEWAY_READ_TOKEN')));
        refused(NotFoundException::class, 'TOPIC_NOT_SERVED', 404, fn () => $queue->publish('no.such.topic', 1));
        $worker = new Worker(client(token: 'GATEWAY_READ_TOKEN'), topic(21), fn () => null);
        refused(ForbiddenException::class, 'FORBIDDEN', 403, fn () => $worker->run());
        $away = client('GATEWAY_AWAY_URL', retryFor: 0);
        refused(UnavailableException::class, 'BROKER_UNAVAILABLE', 503, $publish($away));
    },

    'B22' => function (): void {
        $queue = client();
        foreach (['ack', 'retry', 'dead', 'again'] as $id) {
            $queue->publish(topic(22), $id, new PublishOptions(id: $id));
        }
        $receipts = [];
        eventually('four messages', function () use ($queue, &$receipts): bool {
            foreach ($queue->receive(topic(22), max: 4, wait: '5s', lease: '90s') as $message) {
                $receipts[$message->id] = $message->receipt;
            }
            return count($receipts) === 4;
        });
        $queue->settle(Settlement::ack($receipts['again']));
        $statuses = $queue->settleMany([
            Settlement::ack($receipts['ack']),
            Settlement::ack($receipts['again']),
            Settlement::retry($receipts['retry'], 'later', '1h'),
            Settlement::dead($receipts['dead'], 'never'),
        ]);
        $settled = SettleStatus::Settled;
        same([$settled, SettleStatus::Stale, $settled, $settled], $statuses, 'the statuses');
        $retried = $queue->get(topic(22), 'retry');
        same([MessageState::Scheduled, 1], [$retried->state, $retried->attempts], 'what is retried');
        same(MessageState::Dead, $queue->get(topic(22), 'dead')->state, 'what is given up');
    },

    'B23' => function (): void {
        $queue = client();
        $queue->publish(topic(23), 1, new PublishOptions(id: 'later', delay: '1h'));
        $queue->publish(topic(23), 1, new PublishOptions(id: 'now'));
        $message = receiveOne($queue, topic(23));
        $stats = $queue->stats(topic(23));
        same([topic(23), 1, 1, 0], [$stats->topic, $stats->scheduled, $stats->inFlight, $stats->dead], 'the numbers');
        same(2, $stats->counters['published'], 'how many were published');
        $explanation = $queue->explain(topic(23), 'later');
        same('not-due', $explanation->cause, 'why it has not run');
        holds($explanation->advice !== '' && $explanation->facts['id'] === 'later', 'there is no advice, or no facts');
        same('running', $queue->explain(topic(23), 'now')->cause, 'what is received');
        same('unknown-id', $queue->explain(topic(23), 'none')->cause, 'what does not exist');
        $message->ack();
    },
];
