<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\ClientOptions;
use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\DuplicateMessageException;
use NestjsDelayQueue\Exception\ForbiddenException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Exception\PayloadTooLargeException;
use NestjsDelayQueue\Exception\UnauthorizedException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\Internal\Http\Response;
use NestjsDelayQueue\Internal\Http\ResponseReader;
use NestjsDelayQueue\Internal\Problem;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\NewSchedule;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\Settlement;

require __DIR__ . '/../support/canned-server.php';

const PUBLISHED = '{"id":"m1","topic":"t","partition":0,"dueAt":"2026-12-24T17:00:00.000Z","duplicate":false}';

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
            [503, 'NOT_REPLICATED', UnavailableException::class],
        ];
        foreach ($expected as [$status, $code, $class]) {
            $body = "{\"type\":\"urn:x\",\"title\":\"Title\",\"status\":$status,\"detail\":\"why\",\"code\":\"$code\"}";
            $error = Problem::ofResponse(new Response($status, [], $body));
            $found = [$error::class, $error->errorCode, $error->status, $error->detail];
            same([$class, $code, $status, 'why'], $found, $code);
            same("$code: why", $error->getMessage(), 'the message');
        }
        $error = Problem::ofResponse(new Response(502, [], '<html>'));
        same([UnavailableException::class, 'HTTP_502'], [$error::class, $error->errorCode], 'the answer of a proxy');
    },

    'responses are read however they arrive' => function (): void {
        $responses = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" => [200, 'hello', true],
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length:0\r\nConnection: close\r\n\r\n" =>
                [201, '', false],
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: 1\r\n\r\n" =>
                [200, 'hello', true],
            "HTTP/1.1 204 No Content\r\n\r\n" => [204, '', true],
        ];
        foreach ($responses as $bytes => [$status, $body, $keepsAlive]) {
            foreach ([1, 7, strlen($bytes)] as $size) {
                $reader = new ResponseReader();
                $parts = str_split($bytes, $size);
                $last = array_pop($parts);
                foreach ($parts as $part) {
                    holds(!$reader->add($part) || $status === 204, 'it is complete too early');
                }
                holds($reader->add($last), 'it is not complete');
                $response = $reader->response();
                same([$status, $body], [$response->status, $response->body], $bytes);
                same($keepsAlive || $status === 204, $reader->keepsAlive(), 'whether the connection lasts');
            }
        }
        $reader = new ResponseReader();
        holds(!$reader->add("HTTP/1.1 200 OK\r\n\r\nall of it") && $reader->end(), 'the body ends with the connection');
        holds(!(new ResponseReader())->end(), 'nothing is complete');
        throws(\UnexpectedValueException::class, static fn () => (new ResponseReader())->add("SSH-2.0\r\n\r\n"));
    },

    'what passes is tried again with the same key' => function (): void {
        $busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
        $server = new CannedServer(['', $busy, answer(200, '{"result":"cancelled"}')]);
        $queue = new DelayQueue($server->url, 'token');
        $took = duration(fn () => same('cancelled', $queue->cancel('topic', 'a/b', 'k')->value, 'the result'));
        $requests = $server->requests();
        same(3, count($requests), 'how many requests there were');
        holds($took >= 1_000, "Retry-After was 1 s, and it took $took ms");
        same("DELETE /v1/topics/topic/messages/a%2Fb?key=k HTTP/1.1", strtok($requests[0], "\r\n"), 'the first line');
        holds(str_contains($requests[0], "\r\nAuthorization: Bearer token\r\n"), 'the token');
        same([1, 32], [count(array_unique(array_map(keyOf(...), $requests))), strlen(keyOf($requests[0]))], 'the keys');
    },

    'what must happen once has a key of its own' => function (): void {
        $calls = [
            'POST' => [PUBLISHED, fn ($queue) => $queue->publish('t', 1)],
            'POST many' => ['{"messages":[]}', fn ($queue) => $queue->publishMany('t', [new NewMessage(1)])],
            'DELETE' => ['{"result":"cancelled"}', fn ($queue) => $queue->cancel('t', 'm1')],
            'DELETE tagged' => ['{"cancelled":1,"inFlight":0}', fn ($queue) => $queue->cancelTagged('t', 'x')],
            'PATCH' => ['{"rescheduled":true}', fn ($queue) => $queue->reschedule('t', 'm1', '1s')],
            'POST settle' => ['{"results":[]}', fn ($queue) => $queue->settle([Settlement::ack('r')])],
        ];
        $server = new CannedServer(array_map(static fn ($call) => answer(200, $call[0]), array_values($calls)));
        $queue = new DelayQueue($server->url);
        array_walk($calls, static fn ($call) => $call[1]($queue));
        $keys = array_map(keyOf(...), $server->requests());
        same(count($calls), count(array_unique(array_filter($keys))), 'how many keys there are');
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

        $firstLine = static fn (string $request) => substr($request, 0, (int) strpos($request, ' HTTP'));
        $requests = array_map($firstLine, $server->requests());
        $path = '/v1/schedules/a%20b';
        $expected = [
            "PUT $path", "GET $path", 'GET /v1/schedules?topic=t%20u', "POST $path/pause", "POST $path/resume",
            "POST $path/run", "DELETE $path", "DELETE $path",
        ];
        same($expected, $requests, 'the requests');
        $body = '{"topic":"t","payload":{},"every":3600000,"endAt":1,"options":{"headers":{},"attempts":2}}';
        same($body, substr($server->requests()[0], -strlen($body)), 'the body');
    },

    'what does not pass is not tried again' => function (): void {
        $server = new CannedServer([answer(400, '{"code":"INVALID_ARGUMENT","detail":"no","status":400}')]);
        throws(InvalidArgumentException::class, static fn () => (new DelayQueue($server->url))->publish('topic', 1));
        same(1, count($server->requests()), 'how many requests there were');
    },

    'running a schedule is repeated with the same key, so that it happens once' => function (): void {
        $server = new CannedServer(['', answer(200, PUBLISHED)]);
        same('m1', (new DelayQueue($server->url))->schedules->run('s')->id, 'the id of the message');
        $keys = array_map(
            static fn (string $request) => preg_match('/^Idempotency-Key: (\S+)/m', $request, $found) ? $found[1] : null,
            $server->requests(),
        );
        same(2, count($keys), 'how many requests there were');
        holds($keys[0] !== null && $keys[0] === $keys[1], 'the keys differ');
    },

    'a gateway that does not answer is given up' => function (): void {
        $server = new CannedServer([null]);
        $queue = new DelayQueue($server->url, null, new ClientOptions(timeout: 300, retries: 0));
        $took = duration(fn () => throws(UnavailableException::class, static fn () => $queue->stats('topic')));
        // Time is counted in whole milliseconds.
        holds($took >= 299 && $took < 5_000, "it took $took ms");
    },

    'a certificate is checked, and large bodies pass through TLS' => function (): void {
        $certificate = newCertificate();
        $large = str_repeat('0123456789abcdef', 400_000);
        $answers = [answer(200, "{\"topics\":[\"$large\"]}"), answer(200, '{"results":[]}')];
        $server = new CannedServer($answers, certificate: $certificate);
        $distrustful = new DelayQueue($server->url, null, new ClientOptions(retries: 0));
        $error = throws(UnavailableException::class, static fn () => $distrustful->topics());
        holds(str_contains($error->detail, 'certificate verify failed'), $error->detail);

        $queue = new DelayQueue($server->url, null, new ClientOptions(tls: ['cafile' => $certificate]));
        same(md5($large), md5($queue->topics()[0]), 'what is received');
        same([], $queue->settle([Settlement::dead('r', $large)]), 'what is answered to a large body');
        unlink($certificate);
    },

    'a refusal is read though the body was not' => function (): void {
        $refusal = answer(413, '{"code":"BODY_TOO_LARGE","detail":"no","status":413}');
        $server = new CannedServer([$refusal], readsBody: false);
        $queue = new DelayQueue($server->url, null, new ClientOptions(retries: 0));
        throws(PayloadTooLargeException::class, static fn () => $queue->publish('topic', str_repeat('x', 20_000_000)));
    },
];

function answer(int $status, string $body): string
{
    return "HTTP/1.1 $status Status\r\nContent-Length: " . strlen($body) . "\r\n\r\n$body";
}

function keyOf(string $request): string
{
    return preg_match('/\r\nIdempotency-Key: (\S+)/', $request, $found) === 1 ? $found[1] : '';
}
