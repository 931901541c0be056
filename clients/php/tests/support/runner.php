<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

/**
 * Runs each test in a process of its own, all at once, and prints a line for each, in their order.
 *
 * @param array<string, \Closure(): void> $tests
 * @return int how many have failed
 */
function runAtOnce(array $tests, float $seconds): int
{
    $running = [];
    foreach ($tests as $name => $test) {
        [$own, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $pid = pcntl_fork();
        if ($pid === 0) {
            fclose($own);
            fwrite($other, resultOf($test));
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($other);
        $running[$name] = [$pid, $own];
    }
    $failed = 0;
    $until = microtime(true) + $seconds;
    foreach ($running as $name => [$pid, $stream]) {
        stream_set_timeout($stream, (int) max(1, ceil($until - microtime(true))));
        $result = (string) fread($stream, 65_536);
        posix_kill($pid, SIGKILL);
        pcntl_waitpid($pid, $status);
        $failed += $result === 'ok' ? 0 : 1;
        printResult($name, $result !== '' ? $result : "it was not done after $seconds s");
    }
    return $failed;
}

/** 'ok', or what has failed. */
function resultOf(\Closure $test): string
{
    try {
        $test();
        return 'ok';
    } catch (Failed $failed) {
        return $failed->getMessage();
    } catch (\Throwable $error) {
        return $error::class . ": {$error->getMessage()} (" . basename($error->getFile()) . ":{$error->getLine()})";
    }
}

function printResult(string $name, string $result): void
{
    echo $result === 'ok' ? "ok $name\n" : "not ok $name - " . str_replace("\n", ' ', $result) . "\n";
}
