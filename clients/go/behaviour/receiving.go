package main

import (
	"strings"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

func topicsInOrder(t *trial) {
	first, second := t.given.topicPrefix+".51", t.given.topicPrefix+".52"
	t.warmUp(first, second)
	for i := 0; i < 3; i++ {
		for _, topic := range []string{second, first} {
			must(t.client.Publish(t.ctx, topic, i, &delayqueue.PublishOptions{ID: t.id(randomName())}))
		}
	}
	for i := 0; i < 6; i++ {
		message := t.next(lease, first, second)
		expected := first
		if i >= 3 {
			expected = second
		}
		same("the topic of a message", message.Topic, expected)
		t.ack(message)
	}
}

// warmUp receives until the gateway holds all partitions of the topics: before, it cannot know what is due in the others.
func (t *trial) warmUp(topics ...string) {
	for _, topic := range topics {
		must(t.client.Publish(t.ctx, topic, "warm-up", &delayqueue.PublishOptions{ID: t.id(randomName())}))
	}
	warm := 0
	eventually("all partitions have an owner", func() bool {
		for _, message := range t.receive(delayqueue.ReceiveOptions{Wait: 200 * time.Millisecond}, topics...) {
			t.ack(message)
			warm++
		}
		for _, topic := range topics {
			for _, partition := range must(t.client.Stats(t.ctx, topic)).Partitions {
				if partition.Owner == "" {
					return false
				}
			}
		}
		return warm == len(topics)
	})
}

func largePayloads(t *trial) {
	const limit = 1 << 20
	payload := strings.Repeat("0123456789 <äß>&", (limit-1000)/18)
	t.publish(payload, delayqueue.PublishOptions{})
	message := t.next(lease)
	var received string
	expect(message.Decode(&received) == nil && received == payload, "the payload has changed: %d bytes, were %d", len(received), len(payload))
	t.ack(message)
	_, err := t.client.Publish(t.ctx, t.topic, strings.Repeat("x", limit+1), nil)
	expectError("one that is too large", err, delayqueue.ErrPayloadTooLarge, 413)
}

func waiting(t *trial) {
	const nothing = time.Second
	began := time.Now()
	same("how many came of none", len(t.receive(delayqueue.ReceiveOptions{Wait: nothing})), 0)
	expect(time.Since(began) >= nothing, "waiting for %v took %v", nothing, time.Since(began))
	published := make(chan error, 1)
	began = time.Now()
	go func() {
		time.Sleep(time.Second)
		_, err := t.client.Publish(t.ctx, t.topic, 1, &delayqueue.PublishOptions{ID: t.id("awaited")})
		published <- err
	}()
	messages := t.receive(delayqueue.ReceiveOptions{Wait: 40 * time.Second})
	must(0, <-published)
	same("the number of messages", len(messages), 1)
	// If nothing woke it, it would end after 40 s, and with none.
	expect(time.Since(began) < 20*time.Second, "received after %v", time.Since(began))
	t.ack(messages[0])
}

func errorCodes(t *trial) {
	_, err := t.client.Publish(t.ctx, t.topic, 1, &delayqueue.PublishOptions{ID: strings.Repeat("x", 257)})
	expectError("a long id", err, delayqueue.ErrInvalidArgument, 400)
	_, err = t.connect(t.given.url, "nobody's").Publish(t.ctx, t.topic, 1, nil)
	expectError("a token that nobody has", err, delayqueue.ErrUnauthorized, 401)
	reader := t.connect(t.given.url, t.given.readToken)
	must(reader.Stats(t.ctx, t.topic))
	_, err = reader.Publish(t.ctx, t.topic, 1, nil)
	expectError("a token that may only look", err, delayqueue.ErrForbidden, 403)
	_, err = t.client.Publish(t.ctx, t.given.topicPrefix+".not-served", 1, nil)
	expectError("a topic that is not served", err, delayqueue.ErrTopicNotServed, 404)
	away := must(delayqueue.New(t.given.awayURL, delayqueue.Options{Token: t.given.token, RetryFor: -1}))
	_, err = away.Publish(t.ctx, t.topic, 1, nil)
	expectError("a gateway without Redis", err, delayqueue.ErrBrokerUnavailable, 503)
}

func statsAndExplain(t *trial) {
	tag := t.id("counted")
	before := must(t.client.Stats(t.ctx, t.topic))
	options := delayqueue.PublishOptions{Delay: time.Hour, Tags: []string{tag}}
	published := t.publish(1, options)
	t.publish(2, options)
	after := must(t.client.Stats(t.ctx, t.topic))
	same("the topic", after.Topic, t.topic)
	same("how many more wait", after.Scheduled-before.Scheduled, 2)
	same("how many more were published", after.Counters.Published-before.Counters.Published, 2)
	sum := 0
	for _, partition := range after.Partitions {
		sum += partition.Scheduled
	}
	same("the sum of the partitions", sum, after.Scheduled)
	explanation := must(t.client.Explain(t.ctx, t.topic, published.ID))
	same("the cause", explanation.Cause, "not-due")
	expect(explanation.Facts.DueAt.Equal(published.DueAt), "due at %v, published as %v", explanation.Facts.DueAt, published.DueAt)
	expect(explanation.Advice != "", "there is no advice")
	same("the cause of no message", must(t.client.Explain(t.ctx, t.topic, t.id("none"))).Cause, "unknown-id")
	must(t.client.CancelTagged(t.ctx, t.topic, tag))
}

func anyCharacters(t *trial) {
	texts := []string{"a/b//c", "sp ace", "emoji 😀 ünï", `quo"te's \ back`, "%2F%20+?&=#", "..", "{braces}:[x]"}
	for _, text := range texts {
		id := t.id(text)
		headers := map[string]string{"text": text, "x-" + text: "name"}
		options := delayqueue.PublishOptions{ID: id, Key: text, Headers: headers, Delay: time.Hour}
		payload := map[string]any{text: text}
		t.publish(payload, options)
		details := must(t.client.Get(t.ctx, t.topic, id, delayqueue.WithKey(text)))
		same("the id", details.ID, id)
		moved := must(t.client.Reschedule(t.ctx, t.topic, id, delayqueue.After(0), delayqueue.WithKey(text)))
		same("rescheduling "+id, moved, delayqueue.StatusMoved)
		message := t.next(lease)
		same("the id", message.ID, id)
		same("the key", message.Key, text)
		same("a header", message.Headers["text"], text)
		same("a header's name", message.Headers["x-"+text], "name")
		sameJSON("the payload", message.Payload, payload)
		t.ack(message)
		same("cancelling", must(t.client.Cancel(t.ctx, t.topic, id, delayqueue.WithKey(text))), delayqueue.StatusNotFound)
	}
}
