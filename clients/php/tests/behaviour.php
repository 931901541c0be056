<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

require __DIR__ . '/../autoload.php';
foreach (['assertions', 'environment', 'processes', 'readme', 'runner'] as $file) {
    require __DIR__ . "/support/$file.php";
}

/** Runs the behaviours of clients/BEHAVIOUR.md and the code of the README: all, or those that are named as arguments. */
$tests = [];
foreach (['publishing', 'receiving', 'working', 'rules', 'readme'] as $file) {
    $tests += require __DIR__ . "/behaviours/$file.php";
}
ksort($tests);
$chosen = array_slice($argv, 1);
$chosen = $chosen === [] ? $tests : array_intersect_key($tests, array_flip($chosen));
exit(runAtOnce($chosen, 150) === 0 && $chosen !== [] ? 0 : 1);
