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
     * @param list<string|null> $answers '': the connection is closed instead; null: nothing happens
     * @param string|null $certificate a file with its key, for TLS
     */
    public function __construct(array $answers, bool $readsBody = true, private readonly ?string $certificate = null)
    {
        $this->file = (string) tempnam(sys_get_temp_dir(), 'delay-queue-test-');
        $context = stream_context_create(['ssl' => ['local_cert' => $certificate]]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $server = stream_socket_server('tcp://127.0.0.1:0', $code, $message, $flags, $context);
        $this->url = ($certificate === null ? 'http://' : 'https://') . stream_socket_get_name($server, false);
        $this->pid = pcntl_fork();
        if ($this->pid === 0) {
            $this->serve($server, $answers, $readsBody);
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($server);
    }

    /** @return list<string> what was asked, so far: the head, an empty line, and the body */
    public function requests(): array
    {
        return array_slice(explode("\0", (string) file_get_contents($this->file)), 0, -1);
    }

    public function __destruct()
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
        unlink($this->file);
    }

    /** @param resource $server */
    private function serve($server, array $answers, bool $readsBody): void
    {
        $connection = false;
        foreach ($answers as $answer) {
            do {
                $connection = $connection && !feof($connection) ? $connection : $this->accept($server);
                $request = $this->request($connection, $readsBody);
            } while ($request === '');
            file_put_contents($this->file, "$request\0", FILE_APPEND);
            if ($answer === null) {
                sleep(30);
            }
            fwrite($connection, (string) $answer);
            if ($answer === '') {
                fclose($connection);
                $connection = false;
            }
        }
        // Until the test has read it.
        sleep(30);
    }

    /**
     * @param resource $server
     * @return resource
     */
    private function accept($server)
    {
        do {
            $connection = stream_socket_accept($server, 30);
            $isReady = $this->certificate === null
                || @stream_socket_enable_crypto($connection, true, STREAM_CRYPTO_METHOD_TLS_SERVER) === true;
        } while (!$isReady);
        return $connection;
    }

    /** @param resource $connection */
    private function request($connection, bool $readsBody): string
    {
        $head = '';
        while (is_string($line = fgets($connection)) && $line !== "\r\n") {
            $head .= $line;
        }
        if ($readsBody && preg_match('/\r\nContent-Length: (\d+)/', $head, $found) === 1) {
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
