<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

/** Runs something in another process. @return int its id */
function fork(\Closure $run): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $result = resultOf($run);
        if ($result !== 'ok') {
            fwrite(STDERR, "$result\n");
        }
        // Not exit(): shutdown functions and destructors belong to the test.
        posix_kill(getmypid(), $result === 'ok' ? SIGKILL : SIGABRT);
    }
    return $pid;
}
