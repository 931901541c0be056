package main

import (
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

const lease = 30 * time.Second

func publishedAndReceived(t *trial) {
	payload := map[string]any{"order": 42, "lines": []any{"a", 1.5, true, nil}}
	published := t.publish(payload, delayqueue.PublishOptions{Key: "customer-7", Headers: map[string]string{"trace": "abc"}})
	message := t.next(lease)
	same("the id", message.ID, published.ID)
	same("the topic", message.Topic, t.topic)
	same("the partition", message.Partition, published.Partition)
	same("the key", message.Key, "customer-7")
	same("the header", message.Headers["trace"], "abc")
	same("the attempt", message.Attempt, 1)
	expect(message.DueAt.Equal(published.DueAt), "due at %v, published as %v", message.DueAt, published.DueAt)
	expect(message.Lease > 0 && message.Lease <= lease, "its lease is %v", message.Lease)
	sameJSON("the payload", message.Payload, payload)
	t.ack(message)
}

func notBeforeItIsDue(t *trial) {
	const delay = 2 * time.Second
	began := time.Now()
	t.publish(1, delayqueue.PublishOptions{Delay: delay})
	t.ack(t.next(lease))
	expect(time.Since(began) >= delay, "received after %v", time.Since(began))
}

func manyInOneRequest(t *trial) {
	existing := t.publish(0, delayqueue.PublishOptions{Delay: time.Hour})
	outgoing := []delayqueue.Outgoing{
		{Payload: 1, Options: &delayqueue.PublishOptions{ID: t.id("first")}},
		{Payload: 2, Options: &delayqueue.PublishOptions{ID: existing.ID}},
		{Payload: 3, Options: &delayqueue.PublishOptions{ID: t.id("third")}},
	}
	results, err := t.client.PublishMany(t.ctx, t.topic, outgoing)
	expectError("the error of all", err, delayqueue.ErrDuplicateMessage, 409)
	same("the number of results", len(results), 3)
	same("the first id", results[0].ID, t.id("first"))
	expectError("the second one", results[1].Err, delayqueue.ErrDuplicateMessage, 409)
	same("the third id", results[2].ID, t.id("third"))
	received := map[string]string{}
	for len(received) < 2 {
		message := t.next(lease)
		received[message.ID] = string(message.Payload)
		t.ack(message)
	}
	same("the first payload", received[t.id("first")], "1")
	same("the third payload", received[t.id("third")], "3")
	must(t.client.Cancel(t.ctx, t.topic, existing.ID))
	all := must(t.client.PublishMany(t.ctx, t.topic, outgoing[2:]))
	same("the only result", all[0].ID, t.id("third"))
	t.ack(t.next(lease))
}

func duplicateIDs(t *trial) {
	options := delayqueue.PublishOptions{ID: t.id("once"), Delay: time.Hour}
	first := t.publish(1, options)
	expect(!first.Duplicate, "the first one is a duplicate")
	_, err := t.client.Publish(t.ctx, t.topic, 2, &options)
	expectError("the second publish", err, delayqueue.ErrDuplicateMessage, 409)
	options.OnDuplicate = delayqueue.Ignore
	ignored := t.publish(3, options)
	expect(ignored.Duplicate, "with 'ignore' it is no duplicate")
	expect(ignored.DueAt.Equal(first.DueAt), "with 'ignore' it is due at %v, and was at %v", ignored.DueAt, first.DueAt)
	sameJSON("the payload", must(t.client.Get(t.ctx, t.topic, options.ID)).Payload, 1)
	must(t.client.Cancel(t.ctx, t.topic, options.ID))
}

func lookedUp(t *trial) {
	options := delayqueue.PublishOptions{ID: t.id("a"), Key: t.id("key"), Delay: time.Hour, Tags: []string{"tag"}}
	published := t.publish(map[string]any{"n": 1}, options)
	for _, lookup := range [][]delayqueue.LookupOption{nil, {delayqueue.WithKey(options.Key)}} {
		details := must(t.client.Get(t.ctx, t.topic, options.ID, lookup...))
		same("the state", details.State, "scheduled")
		same("the key", details.Key, options.Key)
		same("the tags", len(details.Tags), 1)
		expect(details.At.Equal(published.DueAt), "due at %v, published as %v", details.At, published.DueAt)
		var payload struct{ N int }
		expect(details.Decode(&payload) == nil && payload.N == 1, "the payload is %s", details.Payload)
	}
	must(t.client.Cancel(t.ctx, t.topic, options.ID))
	t.gone(t.id("never published"))
}

func cancelled(t *trial) {
	published := t.publish(1, delayqueue.PublishOptions{Delay: 4 * time.Second})
	same("the first time", must(t.client.Cancel(t.ctx, t.topic, published.ID)), delayqueue.StatusCancelled)
	same("the second time", must(t.client.Cancel(t.ctx, t.topic, published.ID)), delayqueue.StatusNotFound)
	t.none(5 * time.Second)
}

func cancelledByTag(t *trial) {
	tag := t.id("tour / 7")
	tagged := delayqueue.PublishOptions{Tags: []string{tag, "other"}, Delay: time.Hour}
	one, two := t.publish(1, tagged), t.publish(2, tagged)
	stays := t.publish(3, delayqueue.PublishOptions{Tags: []string{"other"}, Delay: time.Hour})
	counts := must(t.client.CancelTagged(t.ctx, t.topic, tag))
	same("what was cancelled", counts, delayqueue.CancelledTagged{Cancelled: 2})
	t.gone(one.ID)
	t.gone(two.ID)
	same("the other one", must(t.client.Get(t.ctx, t.topic, stays.ID)).State, "scheduled")
	must(t.client.Cancel(t.ctx, t.topic, stays.ID))
}

func rescheduled(t *trial) {
	const delay = time.Second
	published := t.publish(1, delayqueue.PublishOptions{Delay: time.Hour})
	began := time.Now()
	same("rescheduling it", must(t.client.Reschedule(t.ctx, t.topic, published.ID, delayqueue.After(delay))), delayqueue.StatusMoved)
	message := t.next(lease)
	expect(time.Since(began) >= delay, "received after %v", time.Since(began))
	expect(message.DueAt.Before(published.DueAt), "due at %v", message.DueAt)
	t.ack(message)
	at := delayqueue.At(time.Now().Add(time.Hour))
	same("rescheduling none", must(t.client.Reschedule(t.ctx, t.topic, t.id("none"), at)), delayqueue.StatusNotFound)
}

func schedules(t *trial) {
	all := t.client.Schedules()
	stored := must(all.Put(t.ctx, t.topic, delayqueue.ScheduleRule{Topic: t.topic, Payload: "sales", Every: time.Hour}))
	same("the id", stored.ID, t.topic)
	same("the interval", stored.Every, time.Hour)
	sameJSON("the payload", must(all.Get(t.ctx, t.topic)).Payload, "sales")
	same("how many the topic has", len(must(all.List(t.ctx, t.topic))), 1)
	expect(must(all.Pause(t.ctx, t.topic)).Paused, "it is not paused")
	expect(!must(all.Resume(t.ctx, t.topic)).Paused, "it is still paused")
	published := must(all.Run(t.ctx, t.topic))
	messages := must(t.client.Receive(t.ctx, delayqueue.ReceiveOptions{Wait: patience / 2, Lease: lease}, t.topic))
	same("how many messages came", len(messages), 1)
	same("the id of the message", messages[0].ID, published.ID)
	sameJSON("its payload", messages[0].Payload, "sales")
	t.ack(messages[0])
	must(0, all.Remove(t.ctx, t.topic))
	_, err := all.Get(t.ctx, t.topic)
	expectError("looking it up", err, delayqueue.ErrScheduleNotFound, 404)
}
