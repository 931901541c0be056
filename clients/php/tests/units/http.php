<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\CancelResult;
use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\DuplicateMessageException;
use NestjsDelayQueue\Exception\ForbiddenException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\ListSchedulesException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Exception\PayloadTooLargeException;
use NestjsDelayQueue\Exception\PublishManyException;
use NestjsDelayQueue\Exception\UnauthorizedException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\Exception\UntrustedCertificateException;
use NestjsDelayQueue\Internal\Problem;
use NestjsDelayQueue\Internal\Transport;
use NestjsDelayQueue\LeaseStatus;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\NewSchedule;
use NestjsDelayQueue\PublishedMessage;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\RescheduleResult;
use NestjsDelayQueue\Settlement;
use NestjsDelayQueue\SettleStatus;
use NestjsDelayQueue\TagCancellation;

const PUBLISHED = '{"id":"m1","topic":"t","partition":0,"dueAt":"2026-12-24T17:00:00.000Z","duplicate":false}';
const RECEIVED = '{"id":"m1","topic":"t","partition":0,"key":"m1","payload":{},"headers":{},"attempt":1,' .
    '"maxAttempts":5,"publishedAt":"2026-12-24T17:00:00.000Z","dueAt":"2026-12-24T17:00:00.000Z",' .
    '"lease":1000,"receipt":"r1"}';
const SETTLED = '{"results":[{"receipt":"r1","status":"settled"}]}';

return [
    'problems become exceptions' => function (): void {
        $expected = [
            [400, 'INVALID_JSON', InvalidArgumentException::class],
            [401, 'UNAUTHORIZED', UnauthorizedException::class],
            [403, 'FORBIDDEN', ForbiddenException::class],
            [404, 'TOPIC_NOT_SERVED', NotFoundException::class],
            [409, 'DUPLICATE_MESSAGE', DuplicateMessageException::class],
            [409, 'CONFIGURATION', DelayQueueException::class],
            [413, 'BODY_TOO_LARGE', PayloadTooLargeException::class],
            [429, 'TOO_MANY_WAITING', UnavailableException::class],
            [500, 'INTERNAL', DelayQueueException::class],
            [408, 'UNEXPECTED_ANSWER', UnavailableException::class],
            [503, 'NOT_REPLICATED', DelayQueueException::class],
        ];
        foreach ($expected as [$status, $code, $class]) {
            $error = Problem::of((object) ['detail' => 'why', 'code' => $code], $status);
            $found = [$error::class, $error->errorCode, $error->status, $error->detail];
            same([$class, $code, $status, 'why'], $found, $code);
            same("$code: why", $error->getMessage(), 'the message');
        }
        $error = Problem::of(null, 502);
        same([UnavailableException::class, 'UNEXPECTED_ANSWER'], [$error::class, $error->errorCode], 'that of a proxy');
        $error = Problem::of((object) ['message' => 'Cannot GET /'], 404);
        same([NotFoundException::class, 'UNEXPECTED_ANSWER'], [$error::class, $error->errorCode], 'that of another server');
        foreach ([400 => 'UNEXPECTED_ANSWER', 401 => 'UNAUTHORIZED', 403 => 'FORBIDDEN'] as $status => $code) {
            $error = Problem::of((object) ['message' => 'no', 'statusCode' => $status], $status);
            same([$code, $status === 400], [$error->errorCode, Transport::mayPass($error)], "what $status without a code is");
        }
    },

    'an answer that was cut off has failed on its way' => function (): void {
        $json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        $cut = [
            "{$json}Content-Length: 30\r\n\r\n{\"topics\":[]" => 'cut off',
            "{$json}\r\n{\"topics\":[" => 'cut off',
            "{$json}Transfer-Encoding: chunked\r\n\r\n20\r\n{\"topics\"" => 'cut off',
            "HTTP/1.1 200 OK\r\nConte" => 'cut off',
            '' => 'closed before the answer',
        ];
        foreach ($cut as $bytes => $why) {
            $server = new CannedServer([$bytes, '', answer(200, '{"topics":["t"]}')], closes: true);
            $error = throws(UnavailableException::class, (new DelayQueue($server->url, retryFor: 0))->topics(...));
            same('GATEWAY_UNREACHABLE', $error->errorCode, 'the code');
            holds(str_contains($error->detail, $why), $error->detail);
            same(['t'], (new DelayQueue($server->url))->topics(), 'what is answered in the end');
        }
    },

    'what is no answer of a gateway is not tried again' => function (): void {
        $html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>";
        $moved = "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
        foreach ([$html, $moved, answer(200, '[]'), "SSH-2.0\r\n\r\n"] as $bytes) {
            $server = new CannedServer([$bytes], closes: true);
            $error = throws(DelayQueueException::class, (new DelayQueue($server->url))->topics(...));
            same('UNEXPECTED_ANSWER', $error->errorCode, "the code of $bytes");
        }
    },

    'no warning reaches the application' => function (): void {
        $told = [];
        set_error_handler(static function (int $level, string $text) use (&$told): bool {
            $told[] = $text;
            return true;
        });
        $closed = 'http://127.0.0.1:1';
        $error = throws(UnavailableException::class, (new DelayQueue($closed, retryFor: 0))->topics(...));
        restore_error_handler();
        same([], $told, 'what it is told');
        same("The gateway at $closed cannot be reached: Connection refused.", $error->detail, 'the detail');
    },

    'a connection is kept, and not used again after a fork or its end' => function (): void {
        $topics = answer(200, '{"topics":["t"]}');
        $server = new CannedServer(array_fill(0, 9, $topics));
        $queue = new DelayQueue($server->url);
        array_map(static fn () => $queue->topics(), range(1, 3));
        same(1, $server->connections(), 'how many connections three requests have');
        $child = fork(static fn () => $queue->topics());
        pcntl_waitpid($child, $status);
        same(['t'], $queue->topics(), 'what the parent is answered');
        same(2, $server->connections(), 'how many connections there are with a child');
        $closing = new CannedServer([$topics, $topics], closes: true);
        $queue = new DelayQueue($closing->url, retryFor: 0);
        same([['t'], ['t']], [$queue->topics(), $queue->topics()], 'what is answered after an end');
    },

    'chunks are put together' => function (): void {
        $bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9;x=y\r\n{\"topics\"\r\n7\r\n:[\"t\"]}\r\n0\r\nX: y\r\n\r\n";
        $server = new CannedServer(["HTTP/1.1 103 Early Hints\r\n\r\n$bytes", $bytes]);
        $queue = new DelayQueue($server->url);
        same([['t'], ['t']], [$queue->topics(), $queue->topics()], 'what is answered');
        same(1, $server->connections(), 'how many connections there are');
    },

    'a token may be a closure, which is asked once more if it is refused' => function (): void {
        $refusal = answer(401, '{"code":"UNAUTHORIZED","detail":"It has ended.","status":401}');
        $server = new CannedServer([$refusal, answer(201, PUBLISHED)]);
        $tokens = ['new', 'old'];
        $queue = new DelayQueue($server->url, static function () use (&$tokens): string {
            return array_pop($tokens) ?? throw new \LogicException('There are no more');
        });
        $queue->publish('t', 1);
        $sent = array_map(static fn ($one) => preg_match('/Bearer (\w+)/', $one, $found) === 1 ? $found[1] : '', $server->requests());
        same(['old', 'new'], $sent, 'the tokens');
        $queue = new DelayQueue($server->url, static fn () => throw new \LogicException('none'), retryFor: 0);
        same('NO_TOKEN', throws(UnavailableException::class, $queue->topics(...))->errorCode, 'the code');
    },

    'many of which some failed on their way are sent again' => function (): void {
        $away = '{"error":{"status":503,"code":"BROKER_UNAVAILABLE","detail":"away"}}';
        $some = answer(207, '{"messages":[' . PUBLISHED . ",$away]}");
        $server = new CannedServer([$some, answer(201, '{"messages":[' . PUBLISHED . ',' . PUBLISHED . ']}')]);
        $messages = [new NewMessage(1), new NewMessage(2)];
        same(2, count((new DelayQueue($server->url))->publishMany('t', $messages)), 'how many are published');
        same(1, count(array_unique(array_map(keyOf(...), $server->requests()))), 'how many keys there are');
        $server = new CannedServer([$some]);
        $queue = new DelayQueue($server->url, retryFor: 0);
        $error = throws(PublishManyException::class, static fn () => $queue->publishMany('t', $messages));
        same([true, false], array_map(static fn ($one) => $one instanceof PublishedMessage, $error->results), 'the results');
    },

    'a payload that is nested too deep stops only itself' => function (): void {
        $deep = str_repeat('[', 20_000) . str_repeat(']', 20_000);
        $received = static fn (string $id, string $payload) =>
            str_replace(['"payload":{}', 'm1', 'r1'], ["\"payload\":$payload", $id, "r-$id"], RECEIVED);
        $some = implode(',', [$received('a', '{"a]":"}[\""}'), $received('deep', $deep), $received('b', '{}')]);
        $server = new CannedServer([answer(200, "{\"messages\":[$some]}"), answer(200, SETTLED)]);
        $messages = (new DelayQueue($server->url))->receive('t', max: 3);
        same(['a', 'b'], array_map(static fn ($message) => $message->id, $messages), 'what is handed out');
        holds(str_contains($server->requests()[1], '{"settlements":[{"receipt":"r-deep","outcome":"dead","reason":"'), 'it is given up');
    },

    'what passes is tried again with the same key' => function (): void {
        $busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
        foreach (once() as $name => [$answer, $call]) {
            $server = new CannedServer(['', $busy, answer(200, $answer)]);
            $took = duration(static fn () => $call(new DelayQueue($server->url, 'token')));
            $requests = $server->requests();
            same(3, count($requests), "how many requests there were: $name");
            holds($took >= 999, "Retry-After was 1 s, and it took $took ms");
            same(1, count(array_unique($requests)), "how many are different: $name");
            same(32, strlen(keyOf($requests[0])), "the length of the key: $name");
            holds(str_contains($requests[0], "\r\nAuthorization: Bearer token\r\n"), 'the token');
        }
    },

    'what may be done twice is tried again without a key' => function (): void {
        $calls = [
            'DELETE /v1/topics/t/messages/a%2Fb?key=k' =>
                ['{"result":"in-flight"}', static fn ($queue) => $queue->cancel('t', 'a/b', 'k')],
            'DELETE /v1/topics/t/messages?tag=x%20y' =>
                ['{"cancelled":1,"inFlight":0}', static fn ($queue) => $queue->cancelTagged('t', 'x y')],
            'PATCH /v1/topics/t/messages/m1' =>
                ['{"result":"dead"}', static fn ($queue) => $queue->reschedule('t', 'm1', '1s')],
            'POST /v1/extend' =>
                ['{"results":[{"receipt":"r","status":"cancelled"}]}', static fn ($queue) => $queue->extend('r', '1s')],
            'POST /v1/receive' =>
                ['{"messages":[]}', static fn ($queue) => $queue->receive(['t', 'u'], wait: 0)],
        ];
        $results = [CancelResult::InFlight, new TagCancellation(1, 0), RescheduleResult::Dead, LeaseStatus::Cancelled, []];
        foreach ($calls as $asked => [$answer, $call]) {
            $server = new CannedServer(['', answer(200, $answer)]);
            same(array_shift($results), $call(new DelayQueue($server->url)), "the result of $asked");
            same([$asked, $asked], $server->asked(), 'what was asked');
            same('', keyOf($server->requests()[1]), "the key of $asked");
        }
    },

    'each call has a key of its own' => function (): void {
        $calls = [...array_values(once()), ...array_values(once())];
        $server = new CannedServer(array_map(static fn ($call) => answer(200, $call[0]), $calls));
        $queue = new DelayQueue($server->url);
        array_walk($calls, static fn ($call) => $call[1]($queue));
        $keys = array_map(keyOf(...), $server->requests());
        same(count($calls), count(array_unique(array_filter($keys))), 'how many keys there are');
    },

    'a receive says for how long it waits' => function (): void {
        $server = new CannedServer([answer(200, '{"messages":[]}'), answer(200, '{"messages":[' . RECEIVED . ']}')]);
        $queue = new DelayQueue($server->url);
        same([], $queue->receive('t'), 'what is received');
        same(1_000, $queue->receive('t', max: 2, wait: '20s', lease: '1s')[0]->lease, 'the lease');
        [$first, $second] = $server->requests();
        holds(str_ends_with($first, '{"max":1,"wait":0}'), $first);
        holds(str_ends_with($second, '{"max":2,"wait":20000,"lease":"1s"}'), $second);
    },

    'a receive may wait for longer than the timeout' => function (): void {
        $server = new CannedServer([static function (): string {
            usleep(500_000);
            return answer(200, '{"messages":[]}');
        }]);
        same([], (new DelayQueue($server->url, timeout: '200ms', retryFor: 0))->receive('t', wait: '60s'), 'what is received');
    },

    'one of many may be refused' => function (): void {
        $problem = '{"type":"urn:x","title":"Title","status":409,"detail":"why","code":"DUPLICATE_MESSAGE"}';
        $server = new CannedServer([answer(207, '{"messages":[' . PUBLISHED . ",{\"error\":$problem}]}")]);
        $publish = static fn () => (new DelayQueue($server->url))->publishMany('t', [new NewMessage(1), new NewMessage(2)]);
        $error = throws(PublishManyException::class, $publish);
        same(['PUBLISH_MANY', 207, 'm1'], [$error->errorCode, $error->status, $error->results[0]->id], 'the refusal');
        holds($error->results[1] instanceof DuplicateMessageException, 'the second result');
        same($error->results[1]->getMessage(), $error->getPrevious()?->getMessage(), 'the first that was refused');
    },

    'schedules that cannot be told are an exception that has the others' => function (): void {
        $problem = '{"status":503,"detail":"It is away","code":"BROKER_UNAVAILABLE"}';
        $failed = "{\"topic\":\"t\",\"ids\":[\"a\"],\"error\":$problem}";
        $server = new CannedServer([answer(200, "{\"schedules\":[],\"failed\":[$failed]}")]);
        $error = throws(ListSchedulesException::class, static fn () => (new DelayQueue($server->url))->schedules->list());
        [$one] = $error->failed;
        same([[], 't', ['a']], [$error->schedules, $one->topic, $one->ids], 'what is told');
        holds($one->error instanceof UnavailableException && str_contains($error->detail, 'of t cannot be told now: It is away'), $error->detail);
    },

    'schedules are asked for as the gateway takes it' => function (): void {
        $stored = '{"id":"a b","topic":"t","partition":0,"key":"a b","payload":{},"headers":{},"every":3600000,' .
            '"catchUp":"latest","overlap":"allow","paused":false,"declared":false,' .
            '"next":"2026-12-24T17:00:00.000Z","missed":0}';
        $one = answer(200, $stored);
        $server = new CannedServer([
            $one, $one, answer(200, "{\"schedules\":[$stored]}"), $one, $one, answer(200, PUBLISHED),
            answer(200, '{"removed":true}'), answer(404, '{"code":"SCHEDULE_NOT_FOUND","detail":"no","status":404}'),
        ]);
        $schedules = (new DelayQueue($server->url))->schedules;
        $options = new PublishOptions(headers: [], attempts: 2);
        $new = new NewSchedule('t', new \stdClass(), every: new \DateInterval('PT1H'), endAt: 1, options: $options);
        $schedule = $schedules->put('a b', $new);
        same([3_600_000, null, false], [$schedule->every, $schedule->cron, $schedule->paused], 'what is stored');
        same(new \DateTimeImmutable('2026-12-24T17:00:00.000Z'), $schedule->next, 'the next occurrence');
        same('a b', $schedules->get('a b')->id, 'the id');
        same(1, count($schedules->list('t u')), 'how many there are');
        $schedules->pause('a b');
        $schedules->resume('a b');
        same('m1', $schedules->run('a b')->id, 'the id of the message');
        same([true, false], [$schedules->remove('a b'), $schedules->remove('a b')], 'whether there was one');

        $path = '/v1/schedules/a%20b';
        $expected = [
            "PUT $path", "GET $path", 'GET /v1/schedules?topic=t%20u', "POST $path/pause", "POST $path/resume",
            "POST $path/run", "DELETE $path", "DELETE $path",
        ];
        same($expected, $server->asked(), 'the requests');
        $body = '{"topic":"t","payload":{},"every":3600000,"endAt":1,"options":{"attempts":2,"headers":{}}}';
        same($body, substr($server->requests()[0], -strlen($body)), 'the body');
    },

    'what does not pass is not tried again' => function (): void {
        $server = new CannedServer([answer(400, '{"code":"INVALID_ARGUMENT","detail":"no","status":400}')]);
        throws(InvalidArgumentException::class, static fn () => (new DelayQueue($server->url))->publish('topic', 1));
        same(1, count($server->requests()), 'how many requests there were');
    },

    'a gateway that does not answer is given up' => function (): void {
        foreach ([null, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"] as $answer) {
            $server = new CannedServer([$answer]);
            $queue = new DelayQueue($server->url, timeout: 300, retryFor: 0);
            $error = null;
            $took = duration(function () use ($queue, &$error): void {
                $error = throws(UnavailableException::class, $queue->topics(...));
            });
            holds(str_contains($error->detail, 'there was no answer in time'), $error->detail);
            // Time is counted in whole milliseconds.
            holds($took >= 299 && $took < 30_000, "it took $took ms");
        }
    },

    'a certificate is checked, and large bodies pass through TLS' => function (): void {
        $certificate = newCertificate();
        $large = str_repeat('0123456789abcdef', 400_000);
        $answers = [answer(200, "{\"topics\":[\"$large\"]}"), answer(200, SETTLED)];
        $server = new CannedServer($answers, certificate: $certificate);
        $distrustful = new DelayQueue($server->url, retryFor: 0);
        $error = throws(UntrustedCertificateException::class, static fn () => $distrustful->topics());
        holds(!Transport::mayPass($error), 'a worker would go on');
        holds(str_contains($error->detail, 'certificate verify failed'), $error->detail);

        $queue = new DelayQueue($server->url, tls: ['cafile' => $certificate]);
        same(md5($large), md5($queue->topics()[0]), 'what is received');
        same([SettleStatus::Settled], $queue->settleMany([Settlement::dead('r', $large)]), 'what is answered to a large body');
        unlink($certificate);
    },

    'a refusal is read though the body was not' => function (): void {
        $refusal = answer(413, '{"code":"BODY_TOO_LARGE","detail":"no","status":413}');
        $server = new CannedServer([$refusal], readsBody: false);
        $queue = new DelayQueue($server->url, retryFor: 0);
        throws(PayloadTooLargeException::class, static fn () => $queue->publish('topic', str_repeat('x', 20_000_000)));
    },
];

function answer(int $status, string $body): string
{
    return "HTTP/1.1 $status Status\r\nContent-Length: " . strlen($body) . "\r\n\r\n$body";
}

/** @return array<string, array{string, \Closure(DelayQueue): mixed}> what must not be done twice, and how it is answered */
function once(): array
{
    $published = '{"messages":[' . PUBLISHED . ']}';
    return [
        'publish' => [PUBLISHED, static fn ($queue) => $queue->publish('t', 1)],
        'publishMany' => [$published, static fn ($queue) => $queue->publishMany('t', [new NewMessage(1)])],
        'settle' => [SETTLED, static fn ($queue) => $queue->settle(Settlement::ack('r1'))],
        'run' => [PUBLISHED, static fn ($queue) => $queue->schedules->run('s')],
    ];
}

function keyOf(string $request): string
{
    return preg_match('/\r\nIdempotency-Key: (\S+)/', $request, $found) === 1 ? $found[1] : '';
}
