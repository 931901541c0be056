<?php

declare(strict_types=1);

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\Worker;
use NestjsDelayQueue\WorkerOptions;

use function NestjsDelayQueue\Tests\client;

require __DIR__ . '/../../autoload.php';
require __DIR__ . '/assertions.php';
require __DIR__ . '/environment.php';

$topic = $argv[1];
$worker = null;
$handler = static function (ReceivedMessage $message) use (&$worker): void {
    echo "$message->payload $message->attempt\n";
    if ($message->attempt === 1) {
        throw new \RuntimeException('the first time');
    }
    $worker->stop();
};

try {
    new Worker(client(), $topic, $handler, new WorkerOptions(concurrency: 2));
} catch (InvalidArgumentException $error) {
    echo "refused: $error->errorCode\n";
}
$worker = new Worker(client(), $topic, $handler);
$worker->run();
