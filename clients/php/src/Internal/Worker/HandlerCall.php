<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\GiveUp;
use NestjsDelayQueue\Internal\Json;
use NestjsDelayQueue\Internal\Time;
use NestjsDelayQueue\ReceivedMessage;
use NestjsDelayQueue\RetryLater;
use NestjsDelayQueue\Settlement;

/**
 * Calls a handler, and says what is to become of its message.
 *
 * @internal
 */
final class HandlerCall
{
    /** More than this of an error's text is of no help to anybody. */
    private const MAX_REASON = 2_000;

    /** @param \Closure(ReceivedMessage): mixed $handler */
    public static function outcome(\Closure $handler, ReceivedMessage $message): Settlement
    {
        try {
            $handler($message);
            return Settlement::ack($message->receipt);
        } catch (GiveUp $error) {
            return Settlement::dead($message->receipt, self::text($error->getMessage()));
        } catch (RetryLater $error) {
            return self::later($message->receipt, $error);
        } catch (\Throwable $error) {
            return Settlement::retry($message->receipt, self::text($error::class . ': ' . $error->getMessage()));
        }
    }

    private static function later(string $receipt, RetryLater $error): Settlement
    {
        $reason = $error->getMessage();
        try {
            return Settlement::retry($receipt, self::text($reason), Time::milliseconds('delay', $error->delay));
        } catch (InvalidArgumentException $refusal) {
            return Settlement::retry($receipt, self::text("$reason ({$refusal->detail})"));
        }
    }

    private static function text(string $text): string
    {
        return Json::cleanText($text, self::MAX_REASON);
    }
}
