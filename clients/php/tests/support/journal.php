<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

/** What several processes write down, line by line. */
final class Journal
{
    private readonly string $file;

    public function __construct()
    {
        $this->file = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
    }

    public function write(string $line): void
    {
        file_put_contents($this->file, "$line\n", FILE_APPEND | LOCK_EX);
    }

    /** @return list<string> those that begin like this */
    public function lines(string $beginning = ''): array
    {
        $lines = file($this->file, FILE_IGNORE_NEW_LINES) ?: [];
        return array_values(array_filter($lines, static fn ($line) => str_starts_with($line, $beginning)));
    }

    public function remove(): void
    {
        unlink($this->file);
    }
}
