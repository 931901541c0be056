<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

require __DIR__ . '/../autoload.php';
foreach (['assertions', 'environment', 'processes', 'journal', 'running-worker', 'runner'] as $file) {
    require __DIR__ . "/support/$file.php";
}

/** Runs the behaviours of clients/BEHAVIOUR.md: all, or those that are named as arguments. */
$tests = [];
foreach (['publishing', 'receiving', 'working'] as $file) {
    $tests += require __DIR__ . "/behaviours/$file.php";
}
ksort($tests);
$chosen = array_slice($argv, 1);
$chosen = $chosen === [] ? $tests : array_intersect_key($tests, array_flip($chosen));
exit(runAtOnce($chosen, 90) === 0 && $chosen !== [] ? 0 : 1);
