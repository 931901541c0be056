<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

/** @internal */
final class Request
{
    /**
     * @param string $path percent-encoded, below the address of the gateway
     * @param string|null $idempotencyKey the gateway answers a repeated request with the same key as the first time
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly ?string $body = null,
        public readonly ?string $idempotencyKey = null,
    ) {
    }

    public function toBytes(Origin $origin): string
    {
        $headers = $origin->headers();
        if ($this->idempotencyKey !== null) {
            $headers['Idempotency-Key'] = $this->idempotencyKey;
        }
        if ($this->body !== null) {
            $headers['Content-Type'] = 'application/json';
        }
        if ($this->method !== 'GET') {
            $headers['Content-Length'] = (string) strlen($this->body ?? '');
        }
        $lines = array_map(static fn ($name, $value) => "$name: $value\r\n", array_keys($headers), $headers);
        return "$this->method $origin->basePath$this->path HTTP/1.1\r\n" . implode($lines) . "\r\n" . $this->body;
    }
}
