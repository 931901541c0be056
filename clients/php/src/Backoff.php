<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Internal\{Json, Time};

/** How long to wait between the attempts of a message. */
final class Backoff implements \JsonSerializable
{
    /** @param array<string, mixed> $fields */
    private function __construct(private readonly array $fields) {}

    /** Always the same wait. */
    public static function fixed(int|string|\DateInterval $delay): self
    {
        return new self(['type' => 'fixed', 'delay' => Time::duration('delay', $delay)]);
    }

    /**
     * Each wait is longer by a factor.
     *
     * @param float|null $factor 1 to 10; 2 by default
     * @param int|string|\DateInterval|null $maxDelay longest wait; '5m' by default
     * @param float|null $jitter share of the wait, 0 to 1, up to which a random amount is added; 0 by default
     */
    public static function exponential(
        int|string|\DateInterval $delay,
        ?float $factor = null,
        int|string|\DateInterval|null $maxDelay = null,
        ?float $jitter = null,
    ): self {
        $delay = Time::duration('delay', $delay);
        $maxDelay = Time::duration('maxDelay', $maxDelay);
        return new self(['type' => 'exponential', ...compact('delay', 'factor', 'maxDelay', 'jitter')]);
    }

    /**
     * One wait after the other; the last one repeats.
     *
     * @param list<int|string|\DateInterval> $delays 1 to 100
     * @param float|null $jitter as that of an exponential one
     */
    public static function steps(array $delays, ?float $jitter = null): self
    {
        $delays = array_map(static fn ($delay) => Time::duration('delays', $delay), array_values($delays));
        return new self(['type' => 'steps', ...compact('delays', 'jitter')]);
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return Json::given($this->fields);
    }
}
