<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\CancelResult;
use NestjsDelayQueue\Exception\DuplicateMessageException;
use NestjsDelayQueue\Exception\NotFoundException;
use NestjsDelayQueue\Exception\PayloadTooLargeException;
use NestjsDelayQueue\Exception\PublishManyException;
use NestjsDelayQueue\MessageState;
use NestjsDelayQueue\NewMessage;
use NestjsDelayQueue\NewSchedule;
use NestjsDelayQueue\OnDuplicate;
use NestjsDelayQueue\PublishedMessage;
use NestjsDelayQueue\PublishOptions;
use NestjsDelayQueue\RescheduleResult;

return [
    'B01' => function (): void {
        $queue = client();
        $payload = (object) ['text' => 'a', 'list' => [1, 2.5, true, null], 'none' => [], 'empty' => new \stdClass()];
        $options = new PublishOptions(key: 'customer 7', headers: ['trace' => 'abc']);
        $published = $queue->publish(topic(1), $payload, $options);
        $message = receiveOne($queue, topic(1));
        same($payload, $message->payload, 'the payload');
        same(['trace' => 'abc'], $message->headers, 'the headers');
        same([$published->id, topic(1)], [$message->id, $message->topic], 'the id and topic');
        same(['customer 7', 1], [$message->key, $message->attempt], 'the key and attempt');
        same($published->dueAt, $message->dueAt, 'the due time');
        same(90_000, $message->lease, 'the lease');
        $message->ack();
    },

    'B02' => function (): void {
        $queue = client();
        $waited = duration(function () use ($queue): void {
            $queue->publish(topic(2), 'later', new PublishOptions(delay: '2s'));
            $message = receiveOne($queue, topic(2));
            same('later', $message->payload, 'the payload');
            $message->ack();
        });
        holds($waited >= 1_990, "it was received after $waited ms");
    },

    'B03' => function (): void {
        $queue = client();
        $named = static fn (string $id) => new NewMessage($id, new PublishOptions(id: $id));
        $messages = array_map($named, ['first', 'exists', 'third']);
        $queue->publish(topic(3), 'before', new PublishOptions(id: 'exists', delay: '1h'));
        $refusal = throws(PublishManyException::class, fn () => $queue->publishMany(topic(3), $messages));
        [$first, $second, $third] = $refusal->results;
        holds($first instanceof PublishedMessage && $third instanceof PublishedMessage, 'the others are not published');
        same(['first', 'third'], [$first->id, $third->id], 'the ids of what was published');
        holds($second instanceof DuplicateMessageException, 'the second is not refused');
        same(['DUPLICATE_MESSAGE', 409], [$second->errorCode, $second->status], 'why the second is refused');

        $published = $queue->publishMany(topic(3), [new NewMessage(4), new NewMessage(5)]);
        same(2, count($published), 'how many are published if none is refused');
        $received = receiveAll(topic(3), 4);
        sort($received);
        same([4, 5, 'first', 'third'], $received, 'what is received');
    },

    'B04' => function (): void {
        $queue = client();
        $options = new PublishOptions(id: 'twice', delay: '1h');
        $first = $queue->publish(topic(4), 1, $options);
        $again = fn () => $queue->publish(topic(4), 2, $options);
        refused(DuplicateMessageException::class, 'DUPLICATE_MESSAGE', 409, $again);
        $ignored = $queue->publish(topic(4), 2, new PublishOptions(id: 'twice', onDuplicate: OnDuplicate::Ignore));
        same([false, true], [$first->duplicate, $ignored->duplicate], 'whether they are duplicates');
        same(1, $queue->get(topic(4), 'twice')->payload, 'the payload');
    },

    'B05' => function (): void {
        $queue = client();
        $options = new PublishOptions(delay: new \DateInterval('PT1H'), tags: ['t'], headers: ['h' => '1']);
        $published = $queue->publish(topic(5), ['a' => ['b' => []]], $options);
        $found = $queue->get(topic(5), $published->id);
        same(MessageState::Scheduled, $found->state, 'the state');
        same((object) ['a' => (object) ['b' => []]], $found->payload, 'the payload');
        same([['h' => '1'], ['t'], 0], [$found->headers, $found->tags, $found->attempts], 'what else is stored');
        same($published->dueAt, $found->at, 'the due time');
        refused(NotFoundException::class, 'MESSAGE_NOT_FOUND', 404, fn () => $queue->get(topic(5), 'none'));
    },

    'B06' => function (): void {
        $queue = client();
        $queue->publish(topic(6), 1, new PublishOptions(id: 'unwanted', delay: '1s'));
        same(CancelResult::Cancelled, $queue->cancel(topic(6), 'unwanted'), 'the first time');
        same(CancelResult::NotFound, $queue->cancel(topic(6), 'unwanted'), 'the second time');
        same([], $queue->receive(topic(6), wait: '2s'), 'what is received');
    },

    'B07' => function (): void {
        $queue = client();
        foreach (['a' => ['order 1'], 'b' => ['order 1', 'x'], 'c' => ['order 2']] as $id => $tags) {
            $queue->publish(topic(7), $id, new PublishOptions(id: $id, delay: '1h', tags: $tags));
        }
        $cancelled = $queue->cancelTagged(topic(7), 'order 1');
        same([2, 0], [$cancelled->cancelled, $cancelled->inFlight], 'how many are cancelled');
        refused(NotFoundException::class, 'MESSAGE_NOT_FOUND', 404, fn () => $queue->get(topic(7), 'a'));
        same('c', $queue->get(topic(7), 'c')->payload, 'what stays');
    },

    'B08' => function (): void {
        $queue = client();
        $queue->publish(topic(8), 1, new PublishOptions(id: 'moved', delay: '1h'));
        $due = new \DateTimeImmutable('@' . (time() + 3));
        same(RescheduleResult::Moved, $queue->reschedule(topic(8), 'moved', $due), 'what came of it');
        $message = receiveOne($queue, topic(8));
        $early = (float) $due->format('U') - microtime(true);
        holds($early < 0.01, "it was received $early s before it was due");
        same($due, $message->dueAt, 'the due time');
        $message->ack();
        same(RescheduleResult::NotFound, $queue->reschedule(topic(8), 'none', '1s'), 'what came of one that does not exist');
    },

    'B15' => function (): void {
        $queue = client('GATEWAY_LOSSY_URL');
        same(false, $queue->publish(topic(15), 'once')->duplicate, 'whether it is a duplicate');
        $queue->publish(topic(15), 'named', new PublishOptions(id: 'named'));
        $queue->publishMany(topic(15), [new NewMessage('many')]);
        $received = receiveAll(topic(15), 3);
        sort($received);
        same(['many', 'named', 'once'], $received, 'what is received');
        same([], client()->receive(topic(15), wait: '1s'), 'what is received besides');
    },

    'B19' => function (): void {
        $queue = client();
        $large = str_repeat('0123456789abcdeé', 61_600);
        $queue->publish(topic(19), $large);
        $message = receiveOne($queue, topic(19));
        same(md5($large), md5($message->payload), 'the payload');
        $message->ack();
        refused(
            PayloadTooLargeException::class,
            'PAYLOAD_TOO_LARGE',
            413,
            fn () => $queue->publish(topic(19), str_repeat('x', 1_100_000)),
        );
    },

    'B24' => function (): void {
        $queue = client();
        $text = "a/b c%2F?#&+ \"'\\<ü>🎉\u{2028}\t";
        $options = new PublishOptions(id: $text, key: "key of $text", headers: ['any text' => $text]);
        $queue->publish(topic(24), [$text => $text], $options);
        same('running', explainRunning($text)->cause, 'the cause that is explained');

        $queue->publish(topic(24), 1, new PublishOptions(id: "$text 2", key: $text, delay: '1h', tags: [$text]));
        same("$text 2", $queue->get(topic(24), "$text 2", $text)->id, 'the id that is looked up');
        same(RescheduleResult::Moved, $queue->reschedule(topic(24), "$text 2", '2h', $text), 'the rescheduling');
        same(CancelResult::Cancelled, $queue->cancel(topic(24), "$text 2", $text), 'whether it is cancelled');
        same(0, $queue->cancelTagged(topic(24), $text)->cancelled, 'how many are left with its tag');
    },

    'B29' => function (): void {
        $queue = client();
        $schedules = $queue->schedules;
        $name = topic(29);
        $stored = $schedules->put($name, new NewSchedule($name, 'sales', every: '1h'));
        same([$name, $name, false], [$stored->id, $stored->topic, $stored->paused], 'what is stored');
        same('sales', $schedules->get($name)->payload, 'its payload');
        same([$name], array_map(static fn ($one) => $one->id, $schedules->list($name)), 'the schedules of the topic');
        $schedules->pause($name);
        same(true, $schedules->get($name)->paused, 'whether it is paused');
        $schedules->resume($name);
        same(false, $schedules->get($name)->paused, 'whether it is still paused');
        $published = $schedules->run($name);
        $message = receiveOne($queue, $name);
        same([$published->id, 'sales'], [$message->id, $message->payload], 'what is received');
        $message->ack();
        same([true, false], [$schedules->remove($name), $schedules->remove($name)], 'whether there was one');
        $error = throws(NotFoundException::class, fn () => $schedules->get($name));
        same('SCHEDULE_NOT_FOUND', $error->errorCode, 'the code');
    },
];

function explainRunning(string $text): \NestjsDelayQueue\Explanation
{
    $queue = client();
    $message = receiveOne($queue, topic(24));
    same([$text, "key of $text"], [$message->id, $message->key], 'its id and key');
    same((object) [$text => $text], $message->payload, 'the payload');
    same(['any text' => $text], $message->headers, 'the headers');
    $explanation = $queue->explain(topic(24), $text, "key of $text");
    $message->ack();
    return $explanation;
}
