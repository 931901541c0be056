<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal;

/** A connection to the gateway that is kept from request to request. What it throws is of its own and says what went wrong. */
final class Connection
{
    /** Milliseconds after which one that nobody used is not used again: what lies between may have forgotten it. */
    private const LONGEST_IDLE = 45_000;

    /** @var list<resource> of another process: closing them would end its TLS */
    private static array $inherited = [];

    private string $buffer = '';
    private int $usedAt;
    private readonly int $process;

    /** @param resource $stream */
    private function __construct(private $stream, private readonly bool $isTls)
    {
        $this->process = (int) getmypid();
        $this->usedAt = Time::now();
        stream_set_blocking($stream, false);
    }

    /**
     * @param string $server such as 'ssl://queue.example.com:443'
     * @param array<string, mixed> $tls
     * @throws Lost
     */
    public static function open(string $server, array $tls, int $deadline): self
    {
        $warnings = [];
        // What goes wrong with TLS is told in warnings only, which are none of the application's business.
        set_error_handler(static function (int $level, string $text) use (&$warnings): bool {
            $warnings[] = preg_replace(['/^stream_socket_client\(\): /', '/\s+/'], ['', ' '], $text);
            return true;
        });
        try {
            $context = stream_context_create(['ssl' => $tls, 'socket' => ['tcp_nodelay' => true]]);
            $seconds = max(1, $deadline - Time::now()) / 1000;
            $stream = stream_socket_client($server, $code, $message, $seconds, STREAM_CLIENT_CONNECT, $context);
        } finally {
            restore_error_handler();
        }
        if ($stream !== false) {
            return new self($stream, str_starts_with($server, 'ssl:'));
        }
        $said = implode(' ', $warnings);
        $isUntrusted = preg_match('/certificate verify failed|did not match|peer certificate/i', $said) === 1;
        throw new Lost($message !== '' ? $message : ($warnings[0] ?? 'no reason was given'), $isUntrusted);
    }

    /** Whether another request may be sent: there is nothing to read between two requests unless the other side has closed it. */
    public function isUsable(): bool
    {
        if ($this->process !== getmypid()) {
            self::$inherited[] = $this->stream;
            return false;
        }
        return Time::now() - $this->usedAt < self::LONGEST_IDLE && $this->buffer === '' && !$this->isReadable();
    }

    /**
     * @param string $request all of it, so that it is sent in one piece
     * @throws Lost
     */
    public function write(string $request, int $deadline): void
    {
        // TLS takes no other piece in place of one that it could not send at once.
        stream_set_blocking($this->stream, $this->isTls);
        stream_set_timeout($this->stream, max(1, intdiv($deadline - Time::now(), 1000)));
        for ($sent = 0; $sent < strlen($request); ) {
            $written = @fwrite($this->stream, $sent === 0 ? $request : substr($request, $sent, 1_048_576));
            if ($written === false) {
                break; // It may be refused before all of it is sent; then the answer says why.
            }
            $sent += $written;
            if ($sent < strlen($request) && $this->isReadable()) {
                break;
            }
            if ($written === 0) {
                $this->await(null, [$this->stream], $deadline);
            }
        }
        stream_set_blocking($this->stream, false);
    }

    /** @throws Lost */
    public function line(int $deadline): string
    {
        while (($end = strpos($this->buffer, "\n")) === false) {
            $this->fill($deadline);
        }
        return rtrim($this->take($end + 1), "\r\n");
    }

    /** @throws Lost */
    public function bytes(int $length, int $deadline): string
    {
        $parts = [$this->take(min($length, strlen($this->buffer)))];
        for ($left = $length - strlen($parts[0]); $left > 0; $left -= strlen(end($parts))) {
            $this->fill($deadline);
            $parts[] = $this->take(min($left, strlen($this->buffer)));
        }
        return implode($parts);
    }

    /** All that comes until the other side closes it. */
    public function rest(int $deadline): string
    {
        try {
            while (true) {
                $this->fill($deadline);
            }
        } catch (Lost $end) {
            return $end->isEnd ? $this->take(strlen($this->buffer)) : throw $end;
        }
    }

    public function touch(): void
    {
        $this->usedAt = Time::now();
    }

    private function take(int $length): string
    {
        $taken = substr($this->buffer, 0, $length);
        $this->buffer = substr($this->buffer, $length);
        return $taken;
    }

    /** @throws Lost */
    private function fill(int $deadline): void
    {
        while (($bytes = @fread($this->stream, 65_536)) === '' || $bytes === false) {
            if ($bytes === false || feof($this->stream)) {
                throw new Lost('the connection was closed', isEnd: true);
            }
            $this->await([$this->stream], null, $deadline);
        }
        $this->buffer .= $bytes;
    }

    /**
     * @param list<resource>|null $read
     * @param list<resource>|null $write
     * @throws Lost
     */
    private function await(?array $read, ?array $write, int $deadline): void
    {
        $left = $deadline - Time::now();
        $except = null;
        if ($left <= 0 || @stream_select($read, $write, $except, intdiv($left, 1000), $left % 1000 * 1000) === 0) {
            throw new Lost('there was no answer in time');
        }
    }

    private function isReadable(): bool
    {
        $read = [$this->stream];
        $write = $except = null;
        return @stream_select($read, $write, $except, 0) !== 0;
    }
}
