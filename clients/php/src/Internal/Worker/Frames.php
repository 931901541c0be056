<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

/**
 * Values on a pair of sockets between a worker and its children: four bytes of length, then what serialize() makes of
 * it.
 *
 * @internal
 */
final class Frames
{
    private string $buffer = '';

    /** @param resource $stream */
    public function __construct(private $stream)
    {
        stream_set_read_buffer($stream, 0);
    }

    /** Waits until all is written. @return bool false: nobody is there any more */
    public function write(mixed $value): bool
    {
        $bytes = serialize($value);
        $bytes = pack('N', strlen($bytes)) . $bytes;
        while ($bytes !== '') {
            $read = $except = null;
            $write = [$this->stream];
            @stream_select($read, $write, $except, 1);
            $written = @fwrite($this->stream, $bytes);
            if ($written === false || $written === 0 && feof($this->stream)) {
                return false;
            }
            $bytes = substr($bytes, $written);
        }
        return true;
    }

    /** Waits for the next value. @return mixed null: nobody is there any more */
    public function read(): mixed
    {
        while (($value = $this->next()) === null) {
            $read = [$this->stream];
            $write = $except = null;
            @stream_select($read, $write, $except, null);
            if (!$this->fill()) {
                return null;
            }
        }
        return $value;
    }

    /** Takes in what has arrived. @return bool false: nothing more can come */
    public function fill(): bool
    {
        while (is_string($bytes = @fread($this->stream, 65_536)) && $bytes !== '') {
            $this->buffer .= $bytes;
        }
        return !feof($this->stream);
    }

    /** @return mixed null: the next value has not all arrived */
    public function next(): mixed
    {
        $length = strlen($this->buffer) < 4 ? null : unpack('N', $this->buffer)[1];
        if ($length === null || strlen($this->buffer) < 4 + $length) {
            return null;
        }
        $value = unserialize(substr($this->buffer, 4, $length), ['max_depth' => 0]);
        $this->buffer = substr($this->buffer, 4 + $length);
        return $value;
    }

    public function close(): void
    {
        if (is_resource($this->stream)) {
            fclose($this->stream);
        }
    }
}
