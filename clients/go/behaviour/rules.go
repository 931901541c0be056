package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

// odd is a client by a proxy that does something odd.
func (t *trial) odd(what, name string) *delayqueue.Client {
	return t.connect(t.given.oddURL+"/"+what+"/"+t.topic+name, t.given.token)
}

// run runs a worker until it ends by itself.
func (t *trial) runWorker(client *delayqueue.Client, handle func(stop func()) error) error {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	options := delayqueue.WorkerOptions{Topics: []string{t.topic}, OnError: func(*delayqueue.Message, error) {}}
	handler := func(context.Context, *delayqueue.Message) error { return handle(stop) }
	return must(delayqueue.NewWorker(client, handler, options)).Run(ctx)
}

func (t *trial) publishBy(client *delayqueue.Client) error {
	_, err := client.Publish(t.ctx, t.topic, 1, &delayqueue.PublishOptions{ID: t.id("odd")})
	return err
}

// failureOf waits until a message is a dead letter, and says why it is.
func (t *trial) failureOf(id string) delayqueue.Failure {
	var failure delayqueue.Failure
	eventually(id+" is a dead letter", func() bool {
		stored, err := t.client.Get(t.ctx, t.topic, id)
		if err != nil || stored.State != "dead" || stored.Failure == nil {
			return false
		}
		failure = *stored.Failure
		return true
	})
	return failure
}

func guards(t *trial) {
	for status, code := range map[int]delayqueue.Code{401: delayqueue.ErrUnauthorized, 403: delayqueue.ErrForbidden} {
		client := t.odd(fmt.Sprint(status), "")
		expectError("a publish", t.publishBy(client), code, status)
		expectError("a worker", t.runWorker(client, func(func()) error { return nil }), code, status)
	}
}

func proxies(t *trial) {
	expectError("a publish", t.publishBy(t.odd("400-twice", "")), delayqueue.ErrUnexpectedAnswer, 400)
	id := t.publish(1, delayqueue.PublishOptions{}).ID
	must(0, t.runWorker(t.odd("400-twice", "-worker"), func(stop func()) error { stop(); return nil }))
	t.gone(id)
}

func retryAfter(t *trial) {
	began := time.Now()
	must(0, t.publishBy(t.odd("503-once", "")))
	expect(time.Since(began) >= 2*time.Second, "it was asked again after %v", time.Since(began))
}

func someOfMany(t *trial) {
	messages := []delayqueue.Outgoing{{Payload: 1}, {Payload: 2}, {Payload: 3}}
	before := must(t.client.Stats(t.ctx, t.topic)).Counters.Published
	published := must(t.odd("207-once", "-"+t.run).PublishMany(t.ctx, t.topic, messages))
	same("the results", len(published), 3)
	same("how many are published", must(t.client.Stats(t.ctx, t.topic)).Counters.Published-before, 3)
}

func untrusted(t *trial) {
	client := t.connect(t.given.untrustedURL, t.given.token)
	expectError("a publish", t.publishBy(client), delayqueue.ErrUntrustedCertificate, 0)
	expectError("a worker", t.runWorker(client, func(func()) error { return nil }), delayqueue.ErrUntrustedCertificate, 0)
}

func handlerTimeout(t *trial) {
	id := t.publish(1, delayqueue.PublishOptions{Attempts: 1}).ID
	end := make(chan struct{})
	options := delayqueue.WorkerOptions{Timeout: time.Second, Lease: renewedLease}
	w := t.work(t.client, options, func(context.Context, *delayqueue.Message) error { <-end; return nil })
	defer w.stop()
	same("the name of its failure", t.failureOf(id).Name, "HandlerTimeoutError")
	close(end)
	w.stopped()
	same("the attempts", w.attemptsOf(id), "[1]")
}

func unreadable(t *trial) {
	ids := map[string]string{}
	for _, payload := range []string{"one", "deep", "two"} {
		ids[payload] = t.publish(payload, delayqueue.PublishOptions{}).ID
	}
	w := t.work(t.odd("deep", ""), delayqueue.WorkerOptions{}, func(context.Context, *delayqueue.Message) error { return nil })
	defer w.stop()
	failure := t.failureOf(ids["deep"])
	expect(strings.Contains(failure.Message, "nested deeper"), "its failure is %q", failure.Message)
	for _, payload := range []string{"one", "two"} {
		eventually(payload+" is acknowledged", func() bool { return t.isGone(ids[payload]) })
	}
	w.stopped()
}

func stoppedByHandler(t *trial) {
	id := t.publish(1, delayqueue.PublishOptions{}).ID
	must(0, t.runWorker(t.client, func(stop func()) error { stop(); return nil }))
	t.gone(id)
}

func numbers(t *trial) {
	for _, number := range []any{int64(1<<53 + 1), math.Copysign(0, -1)} {
		_, err := t.client.Publish(t.ctx, t.topic, map[string]any{"lines": []any{map[string]any{"id": number}}}, nil)
		expect(errors.Is(err, delayqueue.ErrInvalidArgument) && strings.Contains(err.Error(), "payload.lines[0].id"), "got %v", err)
	}
	const sent = "[9007199254740992,100000000000000000,0.1,-12.5,1e+300]"
	t.publish(json.RawMessage(sent), delayqueue.PublishOptions{})
	message := t.next(lease)
	same("what is received", string(message.Payload), sent)
	t.ack(message)
}

func tokens(t *trial) {
	all := []string{"another", t.given.token, "", t.given.token, t.given.token}
	var asked atomic.Int32
	source := func(context.Context) (string, error) {
		if token := all[asked.Add(1)-1]; token != "" {
			return token, nil
		}
		return "", errors.New("the server of tokens is away")
	}
	client := must(delayqueue.New(t.given.url, delayqueue.Options{TokenSource: source}))
	for i := 0; i < 3; i++ {
		must(client.Publish(t.ctx, t.topic, 1, nil))
	}
	same("how often it was asked", int(asked.Load()), len(all))
}

func handlerErrors(t *trial) {
	id := t.publish(1, delayqueue.PublishOptions{Attempts: 1}).ID
	w := t.work(t.client, delayqueue.WorkerOptions{}, func(context.Context, *delayqueue.Message) error { panic("no such order") })
	defer w.stop()
	failure := t.failureOf(id)
	w.stopped()
	same("its name", failure.Name, "PanicError")
	expect(strings.Contains(failure.Message, "no such order"), "its text is %q", failure.Message)
	expect(strings.Contains(failure.Stack, "handlerErrors"), "its stack is %q", failure.Stack)
	expect(len(w.errors) > 0, "nothing was told")
}

func consumers(t *trial) {
	host := must(os.Hostname())
	for _, name := range []string{"", "mails-1"} {
		w := t.work(t.client, delayqueue.WorkerOptions{Consumer: name}, func(context.Context, *delayqueue.Message) error { return nil })
		defer w.stop()
		if name == "" {
			name = host
		}
		eventually(name+" is known", func() bool {
			for _, receiver := range must(t.client.Explain(t.ctx, t.topic, "none")).Facts.Receivers {
				if receiver.Consumer == name {
					return true
				}
			}
			return false
		})
		w.stopped()
	}
	w := t.work(t.client, delayqueue.WorkerOptions{Consumer: strings.Repeat("x", 129)}, func(context.Context, *delayqueue.Message) error { return nil })
	expectError("a name that is too long", <-w.ended, delayqueue.ErrInvalidArgument, 400)
}

func settledTogether(t *trial) {
	const count = 20
	before := must(t.client.Stats(t.ctx, t.topic)).Counters.Acked
	for i := 0; i < count; i++ {
		t.publish(i, delayqueue.PublishOptions{})
	}
	var all sync.WaitGroup
	all.Add(count)
	options := delayqueue.WorkerOptions{Concurrency: count}
	w := t.work(t.odd("19-settles", "-"+t.run), options, func(ctx context.Context, message *delayqueue.Message) error {
		if string(message.Payload) == "0" {
			// The settle of its worker is stale.
			must(t.client.Settle(t.ctx, delayqueue.Settlement{Receipt: message.Receipt, Outcome: delayqueue.Ack}))
		}
		all.Done()
		all.Wait()
		return nil
	})
	defer w.stop()
	eventually("all are acknowledged", func() bool {
		stats := must(t.client.Stats(t.ctx, t.topic))
		return stats.Counters.Acked-before == count && stats.InFlight == 0
	})
	w.stopped()
	expect(len(w.errors) == 1 && w.wasTold(delayqueue.ErrLeaseLost), "told: %v", w.errors)
}

func failedSchedules(t *trial) {
	id := t.id("nightly")
	must(t.client.Schedules().Put(t.ctx, id, delayqueue.ScheduleRule{Topic: t.topic, Every: time.Hour}))
	schedules, err := t.odd("failed-schedules", "").Schedules().List(t.ctx, "")
	var untold *delayqueue.ListSchedulesError
	expect(errors.As(err, &untold) && errors.Is(err, delayqueue.ErrBrokerUnavailable), "got %v", err)
	same("which are not told", fmt.Sprint(untold.Failed[0].Topic, untold.Failed[0].IDs), "away[nightly]")
	listed := false
	for _, schedule := range schedules {
		listed = listed || schedule.ID == id
	}
	expect(listed, "the others are missing")
	must(0, t.client.Schedules().Remove(t.ctx, id))
}

func toldBesides(t *trial) {
	client := t.odd("more", "")
	must(0, t.publishBy(client))
	same("its state", must(client.Get(t.ctx, t.topic, t.id("odd"))).State, "scheduled")
	same("how many are dead", must(client.Stats(t.ctx, t.topic)).Dead, 0)
	expect(must(client.Explain(t.ctx, t.topic, t.id("odd"))).Advice != "", "there is no advice")
	must(0, t.runWorker(client, func(stop func()) error { stop(); return nil }))
	t.gone(t.id("odd"))
	schedule := must(client.Schedules().Put(t.ctx, t.id("s"), delayqueue.ScheduleRule{Topic: t.topic, Every: time.Hour}))
	same("what was stored", must(client.Schedules().List(t.ctx, t.topic))[0].ID, schedule.ID)
	must(0, client.Schedules().Remove(t.ctx, schedule.ID))
}
