<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\{
    DelayQueueException, DuplicateMessageException, ForbiddenException, InvalidArgumentException,
    NotFoundException, PayloadTooLargeException, UnauthorizedException, UnavailableException,
};

/** Problem details (RFC 9457) as exceptions. */
final class Problem
{
    /** What an answer tells of a part of what was asked for. */
    public static function ofPart(mixed $problem): DelayQueueException
    {
        return self::of($problem, (int) (new Answer($problem))->field('status'));
    }

    /**
     * @param mixed $problem what was answered; without a code something in between has answered, such as a proxy
     * @param int $retryAfter in milliseconds
     */
    public static function of(mixed $problem, int $status, int $retryAfter = 0): DelayQueueException
    {
        $told = (array) $problem;
        $isOfGateway = is_string($told['code'] ?? null);
        // What is meant by these two, whoever says so: what has refused may be a guard of the gateway's application.
        $code = $isOfGateway ? $told['code'] : [401 => 'UNAUTHORIZED', 403 => 'FORBIDDEN'][$status] ?? 'UNEXPECTED_ANSWER';
        $detail = is_string($told['detail'] ?? null)
            ? $told['detail']
            : "The answer has the status $status and no details. Is this the address of a gateway?";
        return match (true) {
            $code === 'DUPLICATE_MESSAGE' => new DuplicateMessageException($code, $detail, $status),
            $code === 'NOT_REPLICATED' => new DelayQueueException($code, $detail, $status),
            // What is wrong for a proxy need not be what was given.
            $status === 400 && $isOfGateway => new InvalidArgumentException($code, $detail, $status),
            $status === 401 => new UnauthorizedException($code, $detail, $status),
            $status === 403 => new ForbiddenException($code, $detail, $status),
            $status === 404 => new NotFoundException($code, $detail, $status),
            $status === 413 => new PayloadTooLargeException($code, $detail, $status),
            // Too much at the moment, a gateway that ends or has no Redis, a proxy without a gateway.
            in_array($status, [408, 429, 502, 503, 504], true) => new UnavailableException($code, $detail, $status, $retryAfter),
            default => new DelayQueueException($code, $detail, $status),
        };
    }
}
