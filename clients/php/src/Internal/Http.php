<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\{InvalidArgumentException, UnavailableException, UntrustedCertificateException};

/** Requests by HTTP/1.1, one after the other on a connection that is kept. */
final class Http
{
    private readonly string $address;

    /** For PHP's streams. */
    private readonly string $server;
    private readonly string $host;
    private readonly string $path;
    private ?Connection $connection = null;

    /**
     * @param array<string, mixed> $tls
     * @throws InvalidArgumentException
     */
    public function __construct(string $url, private readonly array $tls)
    {
        $parts = parse_url($url) ?: [];
        $scheme = strtolower($parts['scheme'] ?? '');
        $why = match (true) {
            !in_array($scheme, ['http', 'https'], true) || !isset($parts['host']) =>
                "The address of the gateway must be a URL such as 'https://queue.example.com'.",
            isset($parts['user']) || isset($parts['query']) || isset($parts['fragment']) =>
                'The address of the gateway must have no user, query or fragment. The token is the second argument.',
            preg_match('/[\x00-\x20\x7f]/', $url) === 1 =>
                'The address of the gateway must have no spaces or control characters.',
            $scheme === 'https' && !in_array('ssl', stream_get_transports(), true) =>
                'PHP needs the extension openssl for https.',
            default => null,
        };
        if ($why !== null) {
            throw InvalidArgumentException::because($why);
        }
        $port = $parts['port'] ?? ($scheme === 'https' ? 443 : 80);
        $this->address = rtrim($url, '/');
        $this->server = ($scheme === 'https' ? 'ssl' : 'tcp') . "://{$parts['host']}:$port";
        $this->host = $parts['host'] . (isset($parts['port']) ? ":$port" : '');
        $this->path = rtrim($parts['path'] ?? '', '/');
    }

    /**
     * @param array<string, string> $headers
     * @param int $timeout longest time for the whole answer, in milliseconds
     * @return array{int, array<string, string>, string} status, headers with names in lower case, and body; status 0:
     *     what has answered does not speak HTTP
     * @throws UnavailableException if it has failed on its way
     * @throws UntrustedCertificateException
     */
    public function exchange(string $method, string $path, array $headers, ?string $body, int $timeout): array
    {
        $lines = Json::given([
            'Host' => $this->host,
            'Accept' => 'application/json',
            'User-Agent' => 'nestjs-delay-queue-php',
            'Content-Type' => $body === null ? null : 'application/json',
            'Content-Length' => $method === 'GET' ? null : (string) strlen($body ?? ''),
            ...$headers,
        ]);
        $head = array_map(static fn ($name, $value) => "$name: $value\r\n", array_keys($lines), $lines);
        $request = "$method $this->path$path HTTP/1.1\r\n" . implode($head) . "\r\n$body";
        $deadline = Time::now() + $timeout;
        try {
            $kept = $this->connection;
            // Only one whose answer was read to its end is used again.
            $this->connection = null;
            if ($kept?->isUsable()) {
                try {
                    return $this->ask($kept, $request, $deadline);
                } catch (Lost $lost) {
                    // It may have been closed while nobody used it, which is noticed only now.
                    if (!$lost->isEnd) {
                        throw $lost;
                    }
                }
            }
            return $this->ask(Connection::open($this->server, $this->tls, $deadline), $request, $deadline);
        } catch (Lost $lost) {
            if ($lost->isUntrusted) {
                $detail = "The certificate of $this->address is not trusted: {$lost->getMessage()}";
                throw new UntrustedCertificateException('UNTRUSTED_CERTIFICATE', $detail);
            }
            throw $this->lost($lost->getMessage());
        }
    }

    /** @return array<string, mixed> what is printed of it */
    public function __debugInfo(): array
    {
        return ['address' => $this->address];
    }

    /**
     * @return array{int, array<string, string>, string}
     * @throws Lost
     */
    private function ask(Connection $connection, string $request, int $deadline): array
    {
        $connection->write($request, $deadline);
        do {
            [$version, $status, $headers] = $this->head($connection, $deadline);
        } while ($status >= 100 && $status < 200);
        $length = $headers['content-length'] ?? null;
        $isChunked = str_contains(strtolower($headers['transfer-encoding'] ?? ''), 'chunked');
        try {
            $body = match (true) {
                $status === 0, $status === 204, $status === 304 => '',
                $isChunked => $this->chunks($connection, $deadline),
                $length !== null => $connection->bytes((int) $length, $deadline),
                default => $connection->rest($deadline),
            };
        } catch (Lost $lost) {
            throw $lost->isEnd ? new Lost('the answer was cut off') : $lost;
        }
        $hasEnd = $isChunked || $length !== null || $status === 204 || $status === 304;
        // Without an end an answer that was cut off can only be told by its JSON, which a part of it is not.
        $isJson = str_contains($headers['content-type'] ?? 'json', 'json');
        if (!$hasEnd && $status !== 0 && $isJson && Json::decode($body) === null) {
            throw new Lost('the answer was cut off');
        }
        if ($hasEnd && $version === '1.1' && strtolower($headers['connection'] ?? '') !== 'close') {
            $connection->touch();
            $this->connection = $connection;
        }
        return [$status, $headers, $body];
    }

    /**
     * @return array{string, int, array<string, string>} version, status and headers
     * @throws Lost
     */
    private function head(Connection $connection, int $deadline): array
    {
        try {
            $first = $connection->line($deadline);
        } catch (Lost $lost) {
            throw $lost->isEnd ? new Lost('the connection was closed before the answer', isEnd: true) : $lost;
        }
        if (preg_match('#^HTTP/(\d\.\d) (\d{3})#', $first, $found) !== 1) {
            return ['', 0, []];
        }
        $headers = [];
        try {
            while (($line = $connection->line($deadline)) !== '') {
                [$name, $value] = [...explode(':', $line, 2), ''];
                $headers[strtolower($name)] = trim($value);
            }
        } catch (Lost $lost) {
            throw $lost->isEnd ? new Lost('the answer was cut off') : $lost;
        }
        return [$found[1], (int) $found[2], $headers];
    }

    /** @throws Lost */
    private function chunks(Connection $connection, int $deadline): string
    {
        $body = '';
        while (($size = (int) hexdec(strtok($connection->line($deadline), ';') ?: '0')) > 0) {
            $body .= $connection->bytes($size, $deadline);
            $connection->line($deadline);
        }
        while ($connection->line($deadline) !== '') {
            // Trailers say nothing that is of use here.
        }
        return $body;
    }

    private function lost(string $why): UnavailableException
    {
        return new UnavailableException('GATEWAY_UNREACHABLE', "The gateway at $this->address cannot be reached: $why.");
    }
}
