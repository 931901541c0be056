<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

use NestjsDelayQueue\Exception\{InvalidArgumentException, UnavailableException};

/** Requests by PHP's own HTTP streams, each on a connection of its own. */
final class Http
{
    private readonly string $address;

    /**
     * @param array<string, mixed> $tls
     * @throws InvalidArgumentException
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] private readonly ?string $token,
        private readonly array $tls,
    ) {
        $parts = parse_url($url) ?: [];
        $scheme = strtolower($parts['scheme'] ?? '');
        $why = match (true) {
            !in_array($scheme, ['http', 'https'], true) || !isset($parts['host']) =>
                "The address of the gateway must be a URL such as 'https://queue.example.com'.",
            isset($parts['user']) || isset($parts['query']) || isset($parts['fragment']) =>
                'The address of the gateway must have no user, query or fragment. The token is the second argument.',
            $token !== null && preg_match('/^[\x21-\x7e]+$/D', $token) !== 1 =>
                'The token must be printable ASCII without spaces.',
            !filter_var(ini_get('allow_url_fopen'), FILTER_VALIDATE_BOOL) =>
                'PHP must be allowed to open URLs. Set allow_url_fopen=1 in its configuration.',
            !in_array($scheme, stream_get_wrappers(), true) =>
                'PHP needs the extension openssl for https.',
            default => null,
        };
        if ($why !== null) {
            throw InvalidArgumentException::because($why);
        }
        $this->address = rtrim($url, '/');
    }

    /**
     * @param array<string, string> $headers
     * @param int $timeout longest time for the whole answer, in milliseconds
     * @return array{int, array<string, string>, string} status, headers with names in lower case, and body; status 0:
     *     what has answered does not speak HTTP
     * @throws UnavailableException if it has failed on its way
     */
    public function exchange(string $method, string $path, array $headers, ?string $body, int $timeout): array
    {
        $deadline = Time::now() + $timeout;
        $lines = Json::given([
            'Accept' => 'application/json',
            'User-Agent' => 'nestjs-delay-queue-php',
            'Authorization' => $this->token === null ? null : "Bearer $this->token",
            'Content-Type' => $body === null ? null : 'application/json',
            'Content-Length' => $method === 'GET' ? null : (string) strlen($body ?? ''),
            ...$headers,
        ]);
        $context = stream_context_create([
            'http' => [
                'method' => $method,
                'header' => array_map(static fn ($name, $value) => "$name: $value", array_keys($lines), $lines),
                'content' => $body ?? '',
                'timeout' => $timeout / 1000,
                'protocol_version' => 1.1,
                'follow_location' => 0,
                'ignore_errors' => true,
            ],
            'ssl' => $this->tls,
        ]);
        $warnings = [];
        // What goes wrong is told in warnings only, which are none of the application's business.
        set_error_handler(static function (int $level, string $text) use (&$warnings): bool {
            $warnings[] = preg_replace(['/^f\w+\(.*?\): (Failed to open stream: )?/', '/\s+/'], ['', ' '], $text);
            return true;
        });
        try {
            $stream = fopen($this->address . $path, 'r', false, $context);
            if ($stream !== false) {
                return $this->read($stream, $deadline);
            }
            throw $this->lost(match (true) {
                Time::now() >= $deadline => 'there was no answer in time',
                str_starts_with($warnings[0] ?? '', 'HTTP request failed') => 'the connection was closed before the answer',
                // Of TLS, the first warning says what is wrong.
                default => $warnings[0] ?? 'no reason was given',
            });
        } finally {
            restore_error_handler();
        }
    }

    /** @return array<string, mixed> what is printed of it has no token */
    public function __debugInfo(): array
    {
        return ['address' => $this->address];
    }

    /**
     * @param resource $stream
     * @return array{int, array<string, string>, string}
     */
    private function read($stream, int $deadline): array
    {
        $status = 0;
        $headers = [];
        foreach (stream_get_meta_data($stream)['wrapper_data'] as $line) {
            if (preg_match('#^HTTP/\S+ (\d{3})#', $line, $found) === 1) {
                [$status, $headers] = [(int) $found[1], []];
            } elseif (str_contains($line, ':')) {
                [$name, $value] = explode(':', $line, 2);
                $headers[strtolower($name)] = trim($value);
            }
        }
        $length = isset($headers['content-length']) ? (int) $headers['content-length'] : null;
        $body = '';
        while (($length === null || strlen($body) < $length) && !feof($stream)) {
            $left = $deadline - Time::now();
            if ($left <= 0) {
                throw $this->lost('there was no answer in time');
            }
            stream_set_timeout($stream, intdiv($left, 1000), $left % 1000 * 1000);
            // Where the server keeps the connection, asking for more than there is would wait for it.
            $body .= fread($stream, $length === null ? 65_536 : min(65_536, $length - strlen($body)));
        }
        fclose($stream);
        // Without a length an answer that was cut off can only be told by its JSON, which a part of it is not.
        $isCut = $length === null
            ? $status !== 204 && str_contains($headers['content-type'] ?? 'json', 'json') && Json::decode($body) === null
            : strlen($body) < $length;
        return $status !== 0 && $isCut ? throw $this->lost('the answer was cut off') : [$status, $headers, $body];
    }

    private function lost(string $why): UnavailableException
    {
        return new UnavailableException('GATEWAY_UNREACHABLE', "The gateway at $this->address cannot be reached: $why.");
    }
}
