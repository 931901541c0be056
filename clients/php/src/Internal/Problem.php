<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Exception\DuplicateMessageException;
use NestjsDelayQueue\Exception\ForbiddenException;
use NestjsDelayQueue\Exception\InvalidArgumentException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Exception\PayloadTooLargeException;
use NestjsDelayQueue\Exception\UnauthorizedException;
use NestjsDelayQueue\Exception\UnavailableException;
use NestjsDelayQueue\Internal\Http\Response;

/**
 * Problem details (RFC 9457) as exceptions.
 *
 * @internal
 */
final class Problem
{
    public static function ofResponse(Response $response): DelayQueueException
    {
        try {
            $problem = new Fields(Json::decode($response->body));
            return self::ofFields($problem, $response->status);
        } catch (DelayQueueException) {
            // Something in between has answered, such as a proxy.
            $status = $response->status;
            return self::exception("HTTP_$status", "The answer has the status $status and no details.", $status);
        }
    }

    public static function ofFields(Fields $problem, ?int $status = null): DelayQueueException
    {
        $detail = $problem->optionalString('detail') ?? $problem->optionalString('title') ?? '';
        return self::exception($problem->string('code'), $detail, $status ?? $problem->int('status'));
    }

    private static function exception(string $code, string $detail, int $status): DelayQueueException
    {
        $class = match (true) {
            $code === 'DUPLICATE_MESSAGE' => DuplicateMessageException::class,
            $status === 400 => InvalidArgumentException::class,
            $status === 401 => UnauthorizedException::class,
            $status === 403 => ForbiddenException::class,
            $status === 404 => NotFoundException::class,
            $status === 413 => PayloadTooLargeException::class,
            in_array($status, Transport::PASSING, true) => UnavailableException::class,
            default => DelayQueueException::class,
        };
        return new $class($code, $detail, $status);
    }
}
