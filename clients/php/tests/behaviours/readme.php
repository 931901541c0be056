<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\PublishOptions;

/** What the code of the README has before it. */
const PRELUDE = <<<'PHP'
    <?php

    declare(strict_types=1);

    final class Order
    {
        public function __construct(private readonly int $id)
        {
        }

        public function isBeingPaid(): bool
        {
            return $this->id === 43;
        }

        public function close(): void
        {
        }
    }

    function findOrder(int $id): ?Order
    {
        return $id === 0 ? null : new Order($id);
    }

    PHP;

return [
    'README' => function (): void {
        $application = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
        unlink($application);
        mkdir($application);
        try {
            [$load, $publish, $publishMany, $schedule, $page, $work, $receive] = blocks('php');
            [$install, $serve] = blocks('sh');
            same([7, 2], [count(blocks('php')), count(blocks('sh'))], 'how many blocks there are');
            chdir($application);
            installs($install);
            file_put_contents('page.php', ofHere($page));
            publishes(program($load, $publish));
            publishesMany(program($load, $publish, $publishMany));
            schedules(program($load, $publish, $schedule));
            serves($serve);
            works(program($load, $publish, $work));
            receives(program($load, $publish, $receive));
        } finally {
            chdir('/');
            exec('rm -r ' . escapeshellarg($application));
        }
    },
];

function installs(string $command): void
{
    // It packs the client alone.
    $copy = 'mkdir -p package/clients && cp -R ' . escapeshellarg(folder()) . ' package/clients/php';
    file_put_contents('npm', "#!/bin/sh\n$copy && tar czf \"\$2-0.1.0.tgz\" package && rm -r package\n");
    chmod('npm', 0o700);
    exec("PATH=\".:\$PATH\"; {\n" . trim($command) . "\n} 2>&1", $output, $exit);
    same(0, $exit, implode("\n", $output));
}

function publishes(string $code): void
{
    same('', outputOf($code), 'what is printed');
    throws(NotFoundException::class, static fn () => client()->get(topic(59), 'order-42'));
    same(1, client()->stats(topic(59))->counters['cancelled'], 'how many were cancelled');
}

function publishesMany(string $code): void
{
    client()->publish(topic(59), 'exists', new PublishOptions(id: 'order-2', delay: '1h'));
    $lines = explode("\n", outputOf($code));
    same(['order-1', 'order-3', ''], [$lines[0], $lines[2], $lines[3]], 'what is published');
    holds(str_contains($lines[1], 'order-2'), $lines[1]);
}

function schedules(string $code): void
{
    same('', outputOf($code), 'what is printed');
    $schedule = client()->schedules->get('daily-report');
    same([topic(60), true, 'Europe/Berlin'], [$schedule->topic, $schedule->paused, $schedule->timeZone], 'the schedule');
    client()->schedules->remove('daily-report');
}

function serves(string $command): void
{
    $address = freeAddress();
    $names = ['php -S' => escapeshellarg(PHP_BINARY) . ' -S', '127.0.0.1:8000' => $address];
    $server = start(['sh', '-c', 'exec env ' . strtr(ofHere($command), $names)]);
    try {
        eventually('the page is there', static fn () => str_contains(page($address), '<form method="post">'));
        $answer = page($address, ['text' => 'Tea', 'delay' => '1h']);
        holds(str_contains($answer, 'It is due at '), $answer);
        same(1, client()->stats(topic(60))->scheduled, 'how many were published');
        $answer = page($address, ['text' => 'Tea', 'delay' => 'so<on']);
        holds(str_contains($answer, 'so&lt;on') && str_contains($answer, 'delay'), $answer);
    } finally {
        proc_terminate($server);
        proc_close($server);
    }
}

function works(string $code): void
{
    foreach ([42, 43, 0] as $id) {
        client()->publish(topic(59), ['orderId' => $id], new PublishOptions(id: "due-$id"));
    }
    file_put_contents('block.php', $code);
    $worker = start([PHP_BINARY, 'block.php']);
    try {
        eventually('one is handled', static fn () => client()->stats(topic(59))->counters['acked'] === 1);
        eventually('one is given up', static fn () => client()->stats(topic(59))->dead === 1);
        eventually('one was delivered', static fn () => client()->get(topic(59), 'due-43')->deliveries === 1);
        eventually('it is put off', static fn () => client()->get(topic(59), 'due-43')->state === MessageState::Scheduled);
        same(0, client()->get(topic(59), 'due-43')->attempts, 'the attempts that it has spent');
    } finally {
        proc_terminate($worker);
        $exit = proc_close($worker);
    }
    same(0, $exit, 'the exit code');
}

function receives(string $code): void
{
    client()->publish(topic(60), 'urgent');
    same('', outputOf($code), 'what is printed');
    same(1, client()->stats(topic(60))->counters['acked'], 'how many are acknowledged');
}

/** Several blocks after one another, which may use the same classes. */
function program(string ...$blocks): string
{
    $code = implode("\n", $blocks);
    preg_match_all('/^use .*;$/m', $code, $uses);
    return PRELUDE . implode("\n", array_unique($uses[0])) . "\n" . ofHere((string) preg_replace('/^use .*;$/m', '', $code));
}

/** With the gateway and the topics of this test. */
function ofHere(string $code): string
{
    return strtr($code, [
        'http://127.0.0.1:8080' => variable('GATEWAY_URL'),
        'order.timeout' => topic(59),
        'urgent' => topic(60),
        'report.send' => topic(60),
        'reminder.send' => topic(60),
    ]);
}

function outputOf(string $code): string
{
    file_put_contents('block.php', $code);
    exec(escapeshellarg(PHP_BINARY) . ' block.php 2>&1', $output, $exit);
    same(0, $exit, implode("\n", $output));
    return implode('', array_map(static fn ($line) => "$line\n", $output));
}

/**
 * @param list<string> $command
 * @return resource
 */
function start(array $command)
{
    $null = ['file', '/dev/null', 'w'];
    return proc_open($command, [1 => $null, 2 => $null], $pipes) ?: throw new Failed("$command[0] does not start");
}

function freeAddress(): string
{
    $server = stream_socket_server('tcp://127.0.0.1:0');
    $address = (string) stream_socket_get_name($server, false);
    fclose($server);
    return $address;
}

/** @param array<string, string>|null $form */
function page(string $address, ?array $form = null): string
{
    $http = $form === null ? [] : [
        'method' => 'POST',
        'header' => 'Content-Type: application/x-www-form-urlencoded',
        'content' => http_build_query($form),
    ];
    $context = stream_context_create(['http' => ['ignore_errors' => true, ...$http]]);
    return (string) @file_get_contents("http://$address/", false, $context);
}
