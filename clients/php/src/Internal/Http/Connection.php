<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Http;

use NestjsDelayQueue\ClientOptions;

/**
 * A connection for one request after the other. `send()` waits for the response; `begin()` and `advance()` let a worker
 * do other things meanwhile.
 *
 * @internal
 */
final class Connection
{
    private const CHUNK = 262_144;

    /**
     * Connections of the process that this one was forked from. They are kept, since closing one with TLS would end it
     * for that process too.
     *
     * @var list<resource>
     */
    private static array $inherited = [];

    /** @var resource|null */
    private $stream = null;
    private int $process = 0;
    /** What is being sent, and how much of it was. */
    private string $request = '';
    private int $sent = 0;
    private ?ResponseReader $reader = null;
    private bool $isReused = false;

    public function __construct(private readonly Origin $origin, private readonly ClientOptions $options)
    {
    }

    /**
     * @param int $timeout longest time for the response, in milliseconds
     * @throws ConnectionLostException
     */
    public function send(Request $request, int $timeout): Response
    {
        $deadline = self::now() + $timeout;
        try {
            return $this->sendOnce($request, $deadline);
        } catch (ConnectionLostException $error) {
            if (!$error->wasReused) {
                throw $error;
            }
            return $this->sendOnce($request, $deadline);
        }
    }

    /**
     * Connects, if need be, and begins to send. `advance()` goes on.
     *
     * @param int $timeout longest time to connect, in milliseconds, if it is less than in the options
     * @throws ConnectionLostException
     */
    public function begin(Request $request, int $timeout): void
    {
        $this->dropUnusable();
        $this->isReused = $this->stream !== null;
        $this->stream ??= $this->connect(min($timeout, $this->options->connectTimeout));
        $this->process = (int) getmypid();
        $this->request = $request->toBytes($this->origin);
        $this->sent = 0;
        $this->reader = new ResponseReader();
    }

    /**
     * Sends and reads what is possible without waiting.
     *
     * @return Response|null null: it has not all arrived
     * @throws ConnectionLostException
     */
    public function advance(): ?Response
    {
        if ($this->stream === null || $this->reader === null) {
            throw new \LogicException('Nothing was begun');
        }
        // A gateway may refuse a body before it has read it all: then there is a response though writing fails.
        $isBroken = !$this->write();
        try {
            $isComplete = $this->read($this->stream, $this->reader);
        } catch (\UnexpectedValueException $error) {
            throw $this->lost($error->getMessage());
        }
        if ($isComplete) {
            return $this->finish($this->reader);
        }
        if ($isBroken || feof($this->stream)) {
            throw $this->lost('The connection was closed before the answer');
        }
        return null;
    }

    /** @return resource|null what to wait for between calls of `advance()` */
    public function stream()
    {
        return $this->stream;
    }

    /** Whether to wait until more can be sent. */
    public function isSending(): bool
    {
        return $this->sent < strlen($this->request);
    }

    /** Whether a part of the response is here. */
    public function isAnswered(): bool
    {
        return $this->reader?->hasBegun() ?? false;
    }

    public function close(): void
    {
        if ($this->stream !== null && $this->process !== getmypid()) {
            self::$inherited[] = $this->stream;
        } elseif ($this->stream !== null) {
            fclose($this->stream);
        }
        $this->stream = null;
        $this->reader = null;
        $this->request = '';
        $this->sent = 0;
    }

    /** Milliseconds on a clock that nobody sets. */
    public static function now(): int
    {
        return intdiv(hrtime(true), 1_000_000);
    }

    private function sendOnce(Request $request, int $deadline): Response
    {
        $this->begin($request, max(1, $deadline - self::now()));
        while (($response = $this->advance()) === null) {
            $left = $deadline - self::now();
            if ($left <= 0) {
                $this->close();
                throw new ConnectionLostException('There was no answer in time');
            }
            $read = [$this->stream];
            $write = $this->isSending() ? [$this->stream] : [];
            $except = null;
            // A signal ends it early, and PHP warns of that.
            @stream_select($read, $write, $except, intdiv($left, 1000), $left % 1000 * 1000);
        }
        return $response;
    }

    /** A connection of another process, or one that was closed meanwhile. */
    private function dropUnusable(): void
    {
        if ($this->stream === null) {
            return;
        }
        $isForeign = $this->process !== getmypid();
        $isBusy = $this->reader !== null;
        if ($isForeign || $isBusy || $this->wasClosed()) {
            $this->close();
        }
    }

    /** Nobody sends anything before the next request, so there is something to read only at the end. */
    private function wasClosed(): bool
    {
        $read = [$this->stream];
        $write = $except = null;
        return @stream_select($read, $write, $except, 0) !== 0;
    }

    /** @return resource */
    private function connect(int $timeout)
    {
        $context = stream_context_create([
            'socket' => ['tcp_nodelay' => true],
            'ssl' => ['peer_name' => trim($this->origin->host, '[]'), ...$this->options->tls],
        ]);
        $warnings = [];
        // What TLS finds wrong is only in the first of the warnings.
        set_error_handler(static function (int $level, string $text) use (&$warnings): bool {
            $warnings[] = str_replace(["\n", 'stream_socket_client(): '], [' ', ''], $text);
            return true;
        });
        try {
            $address = $this->origin->address();
            $stream = stream_socket_client($address, $code, $message, $timeout / 1000, STREAM_CLIENT_CONNECT, $context);
        } finally {
            restore_error_handler();
        }
        if ($stream === false) {
            $why = $message !== '' ? $message : ($warnings[0] ?? 'no reason was given');
            throw new ConnectionLostException("Connecting has failed: $why");
        }
        stream_set_blocking($stream, false);
        stream_set_read_buffer($stream, 0);
        stream_set_chunk_size($stream, self::CHUNK);
        return $stream;
    }

    /** @return bool whether more can be sent, now or later */
    private function write(): bool
    {
        while ($this->isSending()) {
            $written = @fwrite($this->stream, substr($this->request, $this->sent, self::CHUNK));
            if ($written === false) {
                // With TLS, `false` may also mean: not now.
                return !feof($this->stream);
            }
            if ($written === 0) {
                return true;
            }
            $this->sent += $written;
        }
        return true;
    }

    /** @param resource $stream */
    private function read($stream, ResponseReader $reader): bool
    {
        do {
            $bytes = @fread($stream, self::CHUNK);
            if ($bytes === false || $bytes === '') {
                return feof($stream) && $reader->end();
            }
        } while (!$reader->add($bytes));
        return true;
    }

    private function finish(ResponseReader $reader): Response
    {
        $isUsable = $reader->keepsAlive() && !$this->isSending();
        $this->reader = null;
        $this->request = '';
        if (!$isUsable) {
            $this->close();
        }
        return $reader->response();
    }

    private function lost(string $why): ConnectionLostException
    {
        $isFresh = $this->reader?->hasBegun() ?? false;
        $error = new ConnectionLostException($why, $this->isReused && !$isFresh);
        $this->close();
        return $error;
    }
}
