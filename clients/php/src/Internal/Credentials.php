<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\{InvalidArgumentException, UnavailableException};

/** The token of one call. */
final class Credentials
{
    private ?string $token = null;
    private bool $isKnown = false;
    private bool $isRenewed = false;
    private int $tries = 0;

    /** @param bool $isOnce whether the call must not be done twice */
    public function __construct(
        #[\SensitiveParameter] private readonly string|\Closure|null $source,
        private readonly bool $isOnce,
    ) {}

    /**
     * The same for all tries: with another token a call is another operation to the gateway, and would be done again.
     *
     * @return array<string, string>
     * @throws UnavailableException if the closure that gives it has failed
     */
    public function headers(): array
    {
        if (!$this->isKnown) {
            $this->token = self::checked($this->asked());
            $this->isKnown = true;
        }
        $this->tries++;
        return $this->token === null ? [] : ['Authorization' => "Bearer $this->token"];
    }

    /**
     * Once, if a token that was refused may have ended. A call that must not be done twice may be done already if an
     * earlier try of it got no answer.
     */
    public function renew(): bool
    {
        if (!$this->source instanceof \Closure || $this->isRenewed || ($this->isOnce && $this->tries > 1)) {
            return false;
        }
        $this->isRenewed = true;
        $this->isKnown = false;
        return true;
    }

    /** @throws InvalidArgumentException */
    public static function checked(#[\SensitiveParameter] mixed $token): ?string
    {
        if ($token !== null && (!is_string($token) || preg_match('/^[\x21-\x7e]+$/D', $token) !== 1)) {
            throw InvalidArgumentException::because('The token must be printable ASCII without spaces.');
        }
        return $token;
    }

    private function asked(): mixed
    {
        try {
            return $this->source instanceof \Closure ? ($this->source)() : $this->source;
        } catch (\Throwable $error) {
            $why = $error::class . ': ' . $error->getMessage();
            throw new UnavailableException('NO_TOKEN', "There is no token: $why", null, 0);
        }
    }
}
