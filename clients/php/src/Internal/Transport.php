<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\{DelayQueueException, UnavailableException};

/** Calls the gateway, and repeats what has failed for a reason that passes. */
final class Transport
{
    /** @param int $timeout of one try, in milliseconds, as $retryFor */
    public function __construct(
        private readonly Http $http,
        #[\SensitiveParameter] private readonly string|\Closure|null $token,
        private readonly int $timeout,
        private readonly int $retryFor,
    ) {}

    /**
     * @param string $path percent-encoded, below the address of the gateway
     * @param array<string, mixed>|null $body
     * @param bool $isOnce whether it must not be done twice. Then all tries have one Idempotency-Key, by which the gateway
     *     answers as the first time; everything else does no harm twice.
     * @param int $wait for how many milliseconds the gateway itself may wait
     * @param (\Closure(Answer): ?UnavailableException)|null $troubleIn why an answer is not the last word, so that all of
     *     it is asked for again under its key; null: it is
     * @throws DelayQueueException
     */
    public function call(
        string $method,
        string $path,
        ?array $body = null,
        bool $isOnce = false,
        int $wait = 0,
        ?int $timeout = null,
        ?int $retryFor = null,
        ?\Closure $troubleIn = null,
    ): Answer {
        $retryFor ??= $this->retryFor;
        $until = Time::now() + $wait + $retryFor;
        $content = $body === null ? null : Json::encode($body);
        $headers = $isOnce ? ['Idempotency-Key' => bin2hex(random_bytes(16))] : [];
        $credentials = new Credentials($this->token, $isOnce);
        $answer = null;
        for ($tries = 1; true; $tries++) {
            try {
                $answer = $this->try($method, $path, $headers, $content, ($timeout ?? $this->timeout) + $wait, $credentials);
                $error = $troubleIn === null ? null : $troubleIn($answer);
                if ($error === null) {
                    return $answer;
                }
            } catch (UnavailableException $error) {
                // It may pass, as what an answer tells of some.
            }
            $pause = self::pauseAfter($tries, $error);
            if ($retryFor === 0 || Time::now() + $pause > $until) {
                // What was answered before says what became of each of many.
                return $answer ?? throw $error;
            }
            usleep($pause * 1000);
        }
    }

    /** @return array<string, mixed> what is printed of it has no token */
    public function __debugInfo(): array
    {
        return ['http' => $this->http];
    }

    /** @return int milliseconds until the next try: at random, so that many clients do not come back at once */
    public static function pauseAfter(int $tries, DelayQueueException $error): int
    {
        $longest = min(2_000, 100 * 2 ** min($tries - 1, 10));
        $askedFor = $error instanceof UnavailableException ? min(30_000, $error->retryAfter) : 0;
        return max(random_int(intdiv($longest, 2), $longest), $askedFor);
    }

    /** Whether a worker is to go on asking: what the gateway itself refuses stays refused. */
    public static function mayPass(DelayQueueException $error): bool
    {
        // That of a proxy: without its gateway it may well answer 400 or 404.
        $isUnknown = $error->errorCode === 'UNEXPECTED_ANSWER';
        return $error instanceof UnavailableException || $error->status >= 500 || $isUnknown;
    }

    /**
     * @param array<string, string> $headers
     * @throws DelayQueueException
     */
    private function try(
        string $method,
        string $path,
        array $headers,
        ?string $content,
        int $timeout,
        Credentials $credentials,
    ): Answer {
        $all = [...$credentials->headers(), ...$headers];
        [$status, $told, $body] = $this->http->exchange($method, $path, $all, $content, $timeout);
        if ($status === 401 && $credentials->renew()) {
            return $this->try($method, $path, $headers, $content, $timeout, $credentials);
        }
        $value = Json::decode($body);
        if ($status >= 200 && $status < 300) {
            return new Answer($value);
        }
        $seconds = $told['retry-after'] ?? '';
        throw Problem::of($value, $status, preg_match('/^\d{1,6}$/D', $seconds) === 1 ? (int) $seconds * 1000 : 0);
    }
}
