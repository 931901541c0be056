<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

/**
 * Makes a response of HTTP/1.1 of the bytes that arrive.
 *
 * @internal
 */
final class ResponseReader
{
    private const MAX_HEAD = 65_536;

    /** What has arrived and was not read yet. */
    private string $buffer = '';
    private int $status = 0;

    /** @var array<string, string>|null null: the head is not complete */
    private ?array $headers = null;
    private string $body = '';
    private bool $isComplete = false;

    /**
     * Whether it has all.
     *
     * @throws \UnexpectedValueException if this is not HTTP
     */
    public function add(string $bytes): bool
    {
        $this->buffer .= $bytes;
        while ($this->headers === null && $this->readHead());
        if ($this->headers !== null && !$this->isComplete) {
            $this->readBody();
        }
        return $this->isComplete;
    }

    /** Whether it has all, now that nothing more comes. */
    public function end(): bool
    {
        // Without a length the body ends with the connection.
        $this->isComplete = $this->isComplete || $this->headers !== null && $this->endsWithConnection();
        return $this->isComplete;
    }

    public function hasBegun(): bool
    {
        return $this->headers !== null || $this->buffer !== '';
    }

    public function response(): Response
    {
        return new Response($this->status, $this->headers ?? [], $this->body);
    }

    /** Whether another request may follow on the same connection. */
    public function keepsAlive(): bool
    {
        $isClosing = strtolower($this->headers['connection'] ?? '') === 'close' || $this->endsWithConnection();
        return !$isClosing && $this->buffer === '';
    }

    /** @return bool whether to look for the head of another response: this one was only informational */
    private function readHead(): bool
    {
        $end = strpos($this->buffer, "\r\n\r\n");
        if ($end === false) {
            $isTooLong = strlen($this->buffer) > self::MAX_HEAD;
            return $isTooLong ? throw new \UnexpectedValueException('The head of the answer is too long') : false;
        }
        $lines = explode("\r\n", substr($this->buffer, 0, $end));
        $this->buffer = substr($this->buffer, $end + 4);
        if (preg_match('#^HTTP/1\.[01] (\d{3})\b#', (string) array_shift($lines), $found) !== 1) {
            throw new \UnexpectedValueException('The answer is not HTTP/1.1');
        }
        $this->status = (int) $found[1];
        if ($this->status < 200) {
            return true;
        }
        $this->headers = [];
        foreach ($lines as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $this->headers[strtolower($name)] = trim($value);
        }
        return false;
    }

    private function readBody(): void
    {
        if ($this->isChunked()) {
            while (!$this->isComplete && $this->readChunk());
            return;
        }
        $length = $this->length();
        $part = $length === null ? $this->buffer : substr($this->buffer, 0, $length - strlen($this->body));
        $this->body .= $part;
        $this->buffer = substr($this->buffer, strlen($part));
        $this->isComplete = $length !== null && strlen($this->body) >= $length;
    }

    private function readChunk(): bool
    {
        $line = strpos($this->buffer, "\r\n");
        if ($line === false) {
            return false;
        }
        if (preg_match('/^[0-9a-f]{1,8}(?=[;\s]|$)/i', substr($this->buffer, 0, $line), $size) !== 1) {
            throw new \UnexpectedValueException('The answer has a chunk without a length');
        }
        $length = (int) hexdec($size[0]);
        if ($length === 0) {
            return $this->readTrailer($line);
        }
        if (strlen($this->buffer) < $line + 2 + $length + 2) {
            return false;
        }
        $this->body .= substr($this->buffer, $line + 2, $length);
        $this->buffer = substr($this->buffer, $line + 2 + $length + 2);
        return true;
    }

    private function readTrailer(int $line): bool
    {
        $end = strpos($this->buffer, "\r\n\r\n", $line);
        if ($end === false) {
            return false;
        }
        $this->buffer = substr($this->buffer, $end + 4);
        $this->isComplete = true;
        return true;
    }

    private function endsWithConnection(): bool
    {
        return !$this->isChunked() && $this->length() === null;
    }

    private function isChunked(): bool
    {
        return strtolower($this->headers['transfer-encoding'] ?? '') === 'chunked';
    }

    /** null: until the connection ends. */
    private function length(): ?int
    {
        if ($this->status === 204 || $this->status === 304) {
            return 0;
        }
        $length = $this->headers['content-length'] ?? '';
        return ctype_digit($length) ? (int) $length : null;
    }
}
