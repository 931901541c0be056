<?php

declare(strict_types=1);

/** Loads the classes of this client for applications without Composer. */
spl_autoload_register(static function (string $class): void {
    $prefix = 'NestjsDelayQueue\\';
    if (!str_starts_with($class, $prefix)) {
        return;
    }
    $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
