<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

/** A server in another process that answers one request after the other with what it was given. */
final class CannedServer
{
    public readonly string $url;
    private readonly int $pid;
    private readonly string $file;

    /**
     * @param list<string|null|\Closure(): string> $answers '': the connection is closed instead; null: nothing happens; a
     *     closure may take its time
     * @param string|null $certificate a file with its key, for TLS
     * @param bool $closes whether it closes the connection after each answer
     */
    public function __construct(
        private array $answers,
        private readonly bool $readsBody = true,
        private readonly ?string $certificate = null,
        private readonly bool $closes = false,
    ) {
        $this->file = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
        $context = stream_context_create(['ssl' => ['local_cert' => $certificate]]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $server = stream_socket_server('tcp://127.0.0.1:0', $code, $message, $flags, $context);
        $this->url = ($certificate === null ? 'http://' : 'https://') . stream_socket_get_name($server, false);
        $this->pid = pcntl_fork();
        if ($this->pid === 0) {
            $this->serve($server, posix_getppid());
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($server);
    }

    public function connections(): int
    {
        return substr_count((string) file_get_contents("$this->file.connections"), '.');
    }

    /** @return list<string> what was asked, so far: the head, an empty line, and the body */
    public function requests(): array
    {
        return array_slice(explode("\0", (string) file_get_contents($this->file)), 0, -1);
    }

    /** @return list<string> their methods and paths */
    public function asked(): array
    {
        return array_map(static fn ($request) => substr($request, 0, (int) strpos($request, ' HTTP')), $this->requests());
    }

    public function __destruct()
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
        unlink($this->file);
        @unlink("$this->file.connections");
    }

    /** @param resource $server */
    private function serve($server, int $test): void
    {
        $connections = [];
        while (posix_getppid() === $test) {
            $readable = [$server, ...$connections];
            $write = $except = null;
            stream_select($readable, $write, $except, 1);
            foreach ($readable as $stream) {
                if ($stream === $server) {
                    $connection = stream_socket_accept($server, 30);
                    file_put_contents("$this->file.connections", '.', FILE_APPEND);
                    if ($this->certificate === null || $this->isTrusted($connection)) {
                        $connections[(int) $connection] = $connection;
                    }
                } elseif (!$this->answer($stream)) {
                    fclose($stream);
                    unset($connections[(int) $stream]);
                }
            }
        }
    }

    /**
     * @param resource $connection
     * @return bool whether it stays open
     */
    private function answer($connection): bool
    {
        $request = $this->request($connection);
        if ($request === '') {
            return false;
        }
        file_put_contents($this->file, "$request\0", FILE_APPEND);
        $answer = array_shift($this->answers);
        $answer = $answer instanceof \Closure ? $answer() : $answer;
        return $answer === null || $answer !== '' && fwrite($connection, $answer) !== false && !$this->closes;
    }

    /** @param resource $connection */
    private function isTrusted($connection): bool
    {
        return @stream_socket_enable_crypto($connection, true, STREAM_CRYPTO_METHOD_TLS_SERVER) === true;
    }

    /** @param resource $connection */
    private function request($connection): string
    {
        $head = '';
        while (is_string($line = fgets($connection)) && $line !== "\r\n") {
            $head .= $line;
        }
        if ($this->readsBody && preg_match('/\r\nContent-Length: (\d+)/', $head, $found) === 1) {
            return "$head\r\n" . stream_get_contents($connection, (int) $found[1]);
        }
        return $head;
    }
}

/** A file with a new key and a certificate for 127.0.0.1 that it has signed itself. */
function newCertificate(): string
{
    $config = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
    $extensions = "[v3]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=CA:true\n";
    file_put_contents($config, "[req]\ndistinguished_name=name\n[name]\n$extensions");
    $options = ['config' => $config, 'x509_extensions' => 'v3', 'digest_alg' => 'sha256', 'private_key_bits' => 2048];
    $key = openssl_pkey_new($options);
    $request = openssl_csr_new(['commonName' => '127.0.0.1'], $key, $options);
    openssl_x509_export(openssl_csr_sign($request, null, $key, 1, $options), $certificate);
    openssl_pkey_export($key, $exported, null, $options);
    file_put_contents($config, $certificate . $exported);
    return $config;
}
