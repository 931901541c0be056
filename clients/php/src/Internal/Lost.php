<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

/** Why a request has got no answer. */
final class Lost extends \Exception
{
    /**
     * @param bool $isUntrusted whether the certificate of what has answered is not trusted
     * @param bool $isEnd whether the other side has closed the connection
     */
    public function __construct(string $why, public readonly bool $isUntrusted = false, public readonly bool $isEnd = false)
    {
        parent::__construct($why);
    }
}
