<?php

// A page on which customers ask to be reminded. What they ask for is a message of `reminder.send` that is due later.

declare(strict_types=1);

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\OnDuplicate;
use NestjsDelayQueue\PublishOptions;

require __DIR__ . '/../../../clients/php/autoload.php';

$said = '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    // The customer waits for the answer, so the page does not try for long.
    $token = getenv('GATEWAY_TOKEN') ?: null;
    $queue = new DelayQueue((string) getenv('GATEWAY_URL'), $token, timeout: '3s', retryFor: '3s');
    $reminder = ['to' => $_POST['to'] ?? '', 'text' => $_POST['text'] ?? ''];
    try {
        // A customer has one reminder: whoever asks again means another time.
        $options = new PublishOptions(
            id: $reminder['to'],
            delay: $_POST['delay'] ?? '1h',
            onDuplicate: OnDuplicate::Replace,
        );
        $message = $queue->publish('reminder.send', $reminder, $options);
        $said = "You will be reminded at {$message->dueAt->format('H:i:s')} UTC.";
    } catch (DelayQueueException $error) {
        $isWrong = $error->status === 400;
        http_response_code($isWrong ? 400 : 503);
        $said = $isWrong ? $error->detail : 'We cannot take your reminder at the moment. Please try again.';
        error_log($error->getMessage());
    }
}
?>
<!doctype html>
<html lang="en">
<title>Remind me</title>
<p role="status"><?= htmlspecialchars($said) ?></p>
<form method="post">
  <label>Your address <input name="to" type="email" required></label>
  <label>What of <input name="text" required></label>
  <label>In <input name="delay" value="1h" required></label>
  <button>Remind me</button>
</form>
</html>
