<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

require __DIR__ . '/../autoload.php';
foreach (['assertions', 'canned-server', 'environment', 'processes', 'readme', 'runner'] as $file) {
    require __DIR__ . "/support/$file.php";
}

/** Runs the tests that need no gateway. */
$failed = 0;
foreach (['values', 'http', 'worker', 'readme'] as $file) {
    foreach (require __DIR__ . "/units/$file.php" as $name => $test) {
        $result = resultOf($test);
        $failed += $result === 'ok' ? 0 : 1;
        printResult($name, $result);
    }
}
exit($failed === 0 ? 0 : 1);
