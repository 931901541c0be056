<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\ClientOptions;
use NestjsDelayQueue\WorkerOptions;

return [
    'the code of the README is PHP' => function (): void {
        foreach (codeOfReadme() as $code) {
            // One block shows a part of the page.
            $isPart = str_contains($code, '$_POST');
            $file = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
            file_put_contents($file, "<?php\n$code" . ($isPart ? '}' : ''));
            exec(escapeshellarg(PHP_BINARY) . ' -l ' . escapeshellarg($file) . ' 2>&1', $output, $exit);
            unlink($file);
            same(0, $exit, $code . implode("\n", $output));
        }
        $page = preg_replace('/^ +/m', '', (string) file_get_contents(folder() . '/examples/page.php'));
        $shown = array_values(array_filter(codeOfReadme(), static fn ($code) => str_contains($code, '$_POST')));
        same(1, count($shown), 'how many blocks show the page');
        $isSame = str_contains($page, preg_replace('/^ +/m', '', $shown[0]));
        holds($isSame, 'the README shows another page than examples/page.php');
    },

    'the classes that the README uses exist' => function (): void {
        preg_match_all('/^use (NestjsDelayQueue\\\\[\w\\\\]+);$/m', implode(codeOfReadme()), $uses);
        holds(count($uses[1]) >= 10, 'there are hardly any');
        foreach ($uses[1] as $class) {
            holds(class_exists($class), "$class does not exist");
        }
    },

    'the tables of options name each option with its default' => function (): void {
        foreach ([WorkerOptions::class, ClientOptions::class] as $class) {
            $short = (new \ReflectionClass($class))->getShortName();
            preg_match("/<!-- options of $short -->\\n\\n((?:\\|.*\\n)+)/", readme(), $table);
            $rows = array_slice(explode("\n", trim($table[1] ?? '')), 2);
            $told = array_map(static fn ($row) => array_map(trim(...), array_slice(explode('|', $row), 1, 2)), $rows);
            $parameters = (new \ReflectionClass($class))->getConstructor()->getParameters();
            $names = array_map(static fn ($parameter) => "`{$parameter->getName()}`", $parameters);
            same($names, array_column($told, 0), "the options of $short");
            foreach ($parameters as $i => $parameter) {
                $default = $parameter->getDefaultValue();
                $text = is_string($default) ? "`'$default'`" : (is_scalar($default) ? json_encode($default) : null);
                $isTold = $text === null || $text === $told[$i][1];
                holds($isTold, "the default of $names[$i] is {$told[$i][1]} in the README");
            }
        }
    },

    'the page publishes' => function (): void {
        $refusal = '{"code":"INVALID_ARGUMENT","detail":"delay must be <a duration>","status":400}';
        $gateway = new CannedServer([answer(201, PUBLISHED), answer(400, $refusal)]);
        $address = freeAddress();
        $environment = ['GATEWAY_URL' => $gateway->url, 'PATH' => (string) getenv('PATH')];
        $command = [PHP_BINARY, '-S', $address, folder() . '/examples/page.php'];
        $null = ['file', '/dev/null', 'w'];
        $server = proc_open($command, [1 => $null, 2 => $null], $pipes, null, $environment);
        try {
            eventually('the page is there', static fn () => str_contains(page($address), '<form method="post">'));
            $form = ['to' => 'a@example.com', 'text' => 'Tea', 'delay' => '5m'];
            $answer = page($address, $form);
            holds(str_contains($answer, 'Message m1 is due at 17:00:00 UTC.'), $answer);
            holds(str_contains(page($address, $form), 'delay must be &lt;a duration&gt;'), 'the refusal is not shown');
            $request = strtok($gateway->requests()[0], "\r\n");
            same('POST /v1/topics/reminder.send/messages HTTP/1.1', $request, 'the request');
        } finally {
            proc_terminate($server);
            proc_close($server);
        }
    },
];

function folder(): string
{
    return dirname(__DIR__, 2);
}

function readme(): string
{
    return (string) file_get_contents(folder() . '/README.md');
}

/** @return list<string> */
function codeOfReadme(): array
{
    preg_match_all('/^```php\n(.*?)^```$/ms', readme(), $blocks);
    return $blocks[1];
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
