<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

/**
 * Whether a worker was told to stop. Signals say so between `install()` and `restore()`.
 *
 * @internal
 */
final class StopSignals
{
    private bool $isStopping = false;
    private bool $wasAsync = false;

    /** @var array<int, callable|int> what was installed before */
    private array $previous = [];

    public function install(): void
    {
        if (!function_exists('pcntl_async_signals')) {
            return;
        }
        $this->wasAsync = pcntl_async_signals(true);
        foreach ([SIGTERM, SIGINT] as $signal) {
            $this->previous[$signal] = pcntl_signal_get_handler($signal);
            // A wait ends when the signal comes.
            pcntl_signal($signal, fn () => $this->stop(), false);
        }
    }

    public function restore(): void
    {
        foreach ($this->previous as $signal => $handler) {
            pcntl_signal($signal, $handler);
        }
        if ($this->previous !== []) {
            pcntl_async_signals($this->wasAsync);
        }
        $this->previous = [];
        $this->isStopping = false;
    }

    public function stop(): void
    {
        $this->isStopping = true;
    }

    public function isStopping(): bool
    {
        return $this->isStopping;
    }
}
