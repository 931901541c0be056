<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

use NestjsDelayQueue\Exception\InvalidArgumentException;

/**
 * Where the gateway is, and what it is shown.
 *
 * @internal
 */
final class Origin
{
    private function __construct(
        public readonly bool $isSecure,
        public readonly string $host,
        public readonly int $port,
        public readonly string $basePath,
        private readonly ?string $token,
    ) {
    }

    /** @throws InvalidArgumentException */
    public static function of(string $url, #[\SensitiveParameter] ?string $token): self
    {
        $parts = parse_url($url);
        $scheme = strtolower($parts['scheme'] ?? '');
        if ($parts === false || !in_array($scheme, ['http', 'https'], true) || !isset($parts['host'])) {
            throw InvalidArgumentException::because(
                "The address of the gateway must be a URL such as 'https://queue.example.com'.",
            );
        }
        if (isset($parts['user']) || isset($parts['query']) || isset($parts['fragment'])) {
            throw InvalidArgumentException::because(
                'The address of the gateway must have no user, query or fragment. The token is the second argument.',
            );
        }
        if ($token !== null && preg_match('/^[\x21-\x7e]+$/D', $token) !== 1) {
            throw InvalidArgumentException::because('The token must be printable ASCII without spaces.');
        }
        $isSecure = $scheme === 'https';
        $port = $parts['port'] ?? ($isSecure ? 443 : 80);
        return new self($isSecure, $parts['host'], $port, rtrim($parts['path'] ?? '', '/'), $token);
    }

    public function address(): string
    {
        return ($this->isSecure ? 'ssl' : 'tcp') . "://$this->host:$this->port";
    }

    /** @return array<string, string> what every request says */
    public function headers(): array
    {
        $host = $this->port === ($this->isSecure ? 443 : 80) ? $this->host : "$this->host:$this->port";
        $authorization = $this->token === null ? [] : ['Authorization' => "Bearer $this->token"];
        $agent = 'nestjs-delay-queue-php';
        return ['Host' => $host, 'Accept' => 'application/json', 'User-Agent' => $agent, ...$authorization];
    }

    /** @return array<string, mixed> what is printed of it has no token */
    public function __debugInfo(): array
    {
        return ['address' => $this->address() . $this->basePath];
    }
}
