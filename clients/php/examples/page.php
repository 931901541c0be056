<?php

declare(strict_types=1);

use NestjsDelayQueue\ClientOptions;
use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\PublishOptions;

require __DIR__ . '/../autoload.php';

$said = '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    // Somebody waits for the page: one more try has to be enough.
    $options = new ClientOptions(connectTimeout: '1s', timeout: '3s', retries: 1);
    $queue = new DelayQueue((string) getenv('GATEWAY_URL'), getenv('GATEWAY_TOKEN') ?: null, $options);
    $topic = getenv('TOPIC') ?: 'reminder.send';
    try {
        $payload = ['to' => $_POST['to'] ?? '', 'text' => $_POST['text'] ?? ''];
        $message = $queue->publish($topic, $payload, new PublishOptions(delay: $_POST['delay'] ?? '1m'));
        $said = "Message $message->id is due at {$message->dueAt->format('H:i:s')} UTC.";
    } catch (DelayQueueException $error) {
        http_response_code($error->status === 400 ? 400 : 503);
        $said = $error->status === 400 ? $error->detail : 'Reminders cannot be stored at the moment. Please try again.';
        error_log($error->getMessage());
    }
}
?>
<!doctype html>
<title>Remind me</title>
<p role="status"><?= htmlspecialchars($said) ?></p>
<form method="post">
  <label>To <input name="to" type="email" required></label>
  <label>Text <input name="text" required></label>
  <label>In <input name="delay" value="1m" required></label>
  <button>Remind me</button>
</form>
