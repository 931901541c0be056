<?php

declare(strict_types=1);

namespace NestjsDelayQueue;

use NestjsDelayQueue\Exception\UnrecoverableException;
use NestjsDelayQueue\Internal\Worker\HandlerTimeout;
use NestjsDelayQueue\Internal\{Json, Time};

/** A receipt and what is to become of its message, for DelayQueue::settle(). */
final class Settlement
{
    /** What the gateway keeps of a text. */
    private const LONGEST_TEXT = 4_096;

    /** What the library calls these. */
    private const NAMES = [UnrecoverableException::class => 'UnrecoverableError', HandlerTimeout::class => 'HandlerTimeoutError'];

    /** @param 'ack'|'retry'|'dead'|'release' $outcome */
    private function __construct(
        public readonly string $receipt,
        public readonly string $outcome,
        public readonly string|\Throwable|null $reason = null,
        public readonly int|string|\DateInterval|null $delay = null,
    ) {}

    /** It is handled. */
    public static function ack(string $receipt): self
    {
        return new self($receipt, 'ack');
    }

    /**
     * The attempt has failed.
     *
     * @param string|\Throwable|null $reason kept with the message: a text, or what was thrown, with its trace
     * @param int|string|\DateInterval|null $delay until it comes again; by its backoff, if left out
     */
    public static function retry(string $receipt, string|\Throwable|null $reason = null, int|string|\DateInterval|null $delay = null): self
    {
        return new self($receipt, 'retry', $reason, $delay);
    }

    /**
     * It becomes a dead letter at once.
     *
     * @param string|\Throwable|null $reason as that of a retry
     */
    public static function dead(string $receipt, string|\Throwable|null $reason = null): self
    {
        return new self($receipt, 'dead', $reason);
    }

    /** It comes again, at once or after the delay, and spends no attempt. */
    public static function release(string $receipt, int|string|\DateInterval|null $delay = null): self
    {
        return new self($receipt, 'release', null, $delay);
    }

    /** @internal @return array<string, mixed> */
    public function toFields(): array
    {
        $why = $this->reason instanceof \Throwable
            ? ['reason' => null, 'error' => self::error($this->reason)]
            : ['reason' => $this->reason];
        return Json::given([...get_object_vars($this), ...$why, 'delay' => Time::duration('delay', $this->delay)]);
    }

    /** @return array<string, string> */
    private static function error(\Throwable $error): array
    {
        $fields = [
            'name' => self::NAMES[$error::class] ?? $error::class,
            'message' => $error->getMessage(),
            'stack' => (string) $error,
        ];
        return array_map(static fn (string $text) => Json::cleanText($text, self::LONGEST_TEXT), $fields);
    }
}
