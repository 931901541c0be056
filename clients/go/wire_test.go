package delayqueue

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var christmas = time.Date(2026, 12, 24, 18, 0, 0, 1, time.FixedZone("CET", 3600))

// Each call, and the request that it is to send.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	half := 500 * time.Millisecond
	for expected, do := range map[string]func(c *Client) error{
		`POST /v1/topics/t/messages {"payload":{"a":"<&>"}}`: func(c *Client) error {
			_, err := c.Publish(ctx, "t", map[string]string{"a": "<&>"}, nil)
			return err
		},
		`POST /v1/topics/t/messages {"attempts":3,"backoff":{"delay":0,"type":"fixed"},"delay":1801,"expireAfter":60000,"headers":{"h":"1"},"id":"a",` +
			`"key":"k","maxWait":5000,"onDuplicate":"replace","payload":null,"replicas":{"min":1,"timeout":500},"tags":["x"],"timeout":1000}`: func(c *Client) error {
			_, err := c.Publish(ctx, "t", nil, &PublishOptions{
				ID: "a", Key: "k", Delay: 1800*time.Millisecond + 1, Headers: map[string]string{"h": "1"}, Tags: []string{"x"}, Attempts: 3,
				Backoff: FixedBackoff(0), Timeout: time.Second, ExpireAfter: time.Minute, OnDuplicate: Replace, MaxWait: 5 * time.Second,
				Replicas: &Replicas{Min: 1, Timeout: half},
			})
			return err
		},
		`POST /v1/topics/t/messages {"deliverAt":"2026-12-24T17:00:00.001Z","payload":[1]}`: func(c *Client) error {
			_, err := c.Publish(ctx, "t", json.RawMessage("[1]"), &PublishOptions{DeliverAt: christmas})
			return err
		},
		`POST /v1/topics/t/messages {"deliverAt":{"local":"2026-12-24T18:00","timeZone":"Europe/Berlin"},"payload":1}`: func(c *Client) error {
			_, err := c.Publish(ctx, "t", 1, &PublishOptions{DeliverAtLocal: &LocalTime{"2026-12-24T18:00", "Europe/Berlin"}})
			return err
		},
		`POST /v1/topics/t/messages {"backoff":{"delay":1000,"factor":1.5,"jitter":0.2,"maxDelay":60000,"type":"exponential"},"payload":1}`: func(c *Client) error {
			backoff := ExponentialBackoff(time.Second)
			backoff.Factor, backoff.MaxDelay, backoff.Jitter = 1.5, time.Minute, 0.2
			_, err := c.Publish(ctx, "t", 1, &PublishOptions{Backoff: backoff})
			return err
		},
		`POST /v1/topics/t/messages {"messages":[{"id":"a","payload":1},{"payload":2}]}`: func(c *Client) error {
			_, err := c.PublishMany(ctx, "t", []Outgoing{{1, &PublishOptions{ID: "a"}}, {Payload: 2}})
			return err
		},
		`GET /v1/topics/t/messages/a%2Fb%20%3F%23%25%F0%9F%98%80?key=k%2F1 `: func(c *Client) error {
			_, err := c.Get(ctx, "t", "a/b ?#%😀", WithKey("k/1"))
			return err
		},
		`DELETE /v1/topics/t/messages/a `: func(c *Client) error { _, err := c.Cancel(ctx, "t", "a"); return err },
		`DELETE /v1/topics/t/messages?tag=x+y `: func(c *Client) error {
			_, err := c.CancelTagged(ctx, "t", "x y")
			return err
		},
		`PATCH /v1/topics/t/messages/a {"delay":0}`: func(c *Client) error { _, err := c.Reschedule(ctx, "t", "a", After(0)); return err },
		`PATCH /v1/topics/t/messages/a?key=k {"deliverAt":"2026-12-24T17:00:00.001Z"}`: func(c *Client) error {
			_, err := c.Reschedule(ctx, "t", "a", At(christmas), WithKey("k"))
			return err
		},
		`PATCH /v1/topics/t/messages/b {"deliverAt":{"local":"2026-12-24T18:00","timeZone":"Europe/Berlin"}}`: func(c *Client) error {
			_, err := c.Reschedule(ctx, "t", "b", AtLocal(LocalTime{"2026-12-24T18:00", "Europe/Berlin"}))
			return err
		},
		`GET /v1/topics/t/messages/a/explain `: func(c *Client) error { _, err := c.Explain(ctx, "t", "a"); return err },
		`POST /v1/receive {"lease":0,"max":5,"topics":["t"],"wait":20000}`: func(c *Client) error {
			_, err := c.Receive(ctx, ReceiveOptions{Max: 5, Wait: 20 * time.Second, AtMostOnce: true}, "t")
			return err
		},
		`POST /v1/receive {"lease":60000,"topics":["a","b"]}`: func(c *Client) error {
			_, err := c.Receive(ctx, ReceiveOptions{Lease: time.Minute}, "a", "b")
			return err
		},
		`POST /v1/settle {"settlements":[{"outcome":"ack","receipt":"r"},{"delay":500,"outcome":"retry","reason":"why","receipt":"s"}]}`: func(c *Client) error {
			_, err := c.Settle(ctx, Settlement{Receipt: "r", Outcome: Ack}, Settlement{Receipt: "s", Outcome: Retry, Delay: &half, Reason: "why"})
			return err
		},
		`POST /v1/extend {"extensions":[{"lease":2000,"receipt":"r"}]}`: func(c *Client) error {
			_, err := c.Extend(ctx, Extension{Receipt: "r", Lease: 2 * time.Second})
			return err
		},
		`POST /v1/receive {"topics":["t"]}`: func(c *Client) error {
			_, err := c.Receive(ctx, ReceiveOptions{Wait: -time.Second}, "t")
			return err
		},
		`GET /v1/topics/t/stats `:    func(c *Client) error { _, err := c.Stats(ctx, "t"); return err },
		`GET /v1/schedules?topic=t `: func(c *Client) error { _, err := c.Schedules().List(ctx, "t"); return err },
		`GET /v1/schedules/s%2F1 `:   func(c *Client) error { _, err := c.Schedules().Get(ctx, "s/1"); return err },
		`PUT /v1/schedules/s {"catchUp":"all","every":60000,"options":{"backoff":{"delays":[1000,2000],"jitter":0.5,"type":"steps"},"key":"k",` +
			`"tags":["x"]},"overlap":"skip","payload":{},"startAt":"2026-12-24T17:00:00.001Z","topic":"t"}`: func(c *Client) error {
			backoff := StepsBackoff(time.Second, 2*time.Second)
			backoff.Jitter = 0.5
			_, err := c.Schedules().Put(ctx, "s", ScheduleRule{
				Topic: "t", Payload: struct{}{}, Every: time.Minute, StartAt: christmas, CatchUp: "all", Overlap: "skip",
				Options: &ScheduledMessageOptions{Key: "k", Tags: []string{"x"}, Backoff: backoff},
			})
			return err
		},
		`PUT /v1/schedules/s {"cron":"0 6 * * *","payload":1,"timeZone":"Europe/Berlin","topic":"t"}`: func(c *Client) error {
			_, err := c.Schedules().Put(ctx, "s", ScheduleRule{Topic: "t", Payload: 1, Cron: "0 6 * * *", TimeZone: "Europe/Berlin"})
			return err
		},
		`POST /v1/schedules/s/pause `:  func(c *Client) error { _, err := c.Schedules().Pause(ctx, "s"); return err },
		`POST /v1/schedules/s/resume `: func(c *Client) error { _, err := c.Schedules().Resume(ctx, "s"); return err },
		`POST /v1/schedules/s/run `:    func(c *Client) error { _, err := c.Schedules().Run(ctx, "s"); return err },
		`DELETE /v1/schedules/s `:      func(c *Client) error { return c.Schedules().Remove(ctx, "s") },
	} {
		// Nothing that a call decodes minds this answer, but for settle and extend, which count their results.
		fake := answerWith(t, 200, `{"results":[{"status":"settled"},{"status":"stale"}]}`)
		err := do(newTestClient(t, fake.URL, Options{}))
		var miscounted *Error
		if err != nil && !(errors.As(err, &miscounted) && miscounted.Code == ErrUnexpectedAnswer) {
			t.Errorf("%s: %v", expected, err)
		}
		request := fake.seen()[0]
		if sent := request.method + " " + request.uri + " " + request.body; sent != expected {
			t.Errorf("sent     %s\nexpected %s", sent, expected)
		}
		isKeyed := strings.HasPrefix(expected, "POST /v1/settle") || strings.HasPrefix(expected, "POST /v1/schedules/") ||
			strings.HasPrefix(expected, "POST /v1/topics/t/messages")
		if hasKey := request.header.Get("Idempotency-Key") != ""; hasKey != isKeyed {
			t.Errorf("%s: has an idempotency key: %v", expected, hasKey)
		}
		if isJSON := request.header.Get("Content-Type") == "application/json"; isJSON != (request.body != "") {
			t.Errorf("%s: Content-Type is %q", expected, request.header.Get("Content-Type"))
		}
	}
}

func TestWhatContradictsItselfIsNotSent(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, "{}")
	client := newTestClient(t, fake.URL, Options{})
	ctx := context.Background()
	_, err := client.Publish(ctx, "t", 1, &PublishOptions{DeliverAt: christmas, DeliverAtLocal: &LocalTime{}})
	if !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if _, err = client.Receive(ctx, ReceiveOptions{AtMostOnce: true, Lease: time.Second}, "t"); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if _, err = client.PublishMany(ctx, "t", []Outgoing{{Payload: make(chan int)}}); !errors.Is(err, ErrSerialization) {
		t.Errorf("got %v", err)
	}
	if _, err = client.Reschedule(ctx, "t", "a", When{}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if _, err = client.Stats(ctx, ""); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if len(fake.seen()) != 0 {
		t.Errorf("sent %v", fake.seen())
	}
}

func TestAMessageIsLookedUp(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, `{"id":"a","key":"a","topic":"t","partition":2,"state":"dead","at":"2026-01-01T00:00:00.000Z","headers":{},"tags":["x"],`+
		`"payload":{"n":1},"deliveries":3,"attempts":2,"maxAttempts":2,"timeout":1500,"expireAfter":60000,"duration":0.5,"backoff":{"type":"fixed"},`+
		`"failure":{"reason":"invalid","name":"E","message":"why","cause":{"name":"C","message":"deeper"},"issues":[{"message":"no","path":"n"}]},`+
		`"history":[{"at":"2026-01-01T00:00:00.000Z","attempt":2,"name":"E","message":"why","duration":250}]}`)
	details, err := newTestClient(t, fake.URL, Options{}).Get(context.Background(), "t", "a")
	if err != nil || details.State != "dead" || details.MaxAttempts != 2 || string(details.Backoff) != `{"type":"fixed"}` {
		t.Fatalf("got %+v, %v", details, err)
	}
	if details.Timeout != 1500*time.Millisecond || details.ExpireAfter != time.Minute || details.Duration != 500*time.Microsecond {
		t.Errorf("got %+v", details)
	}
	failure := details.Failure
	if failure.Message != "why" || failure.Cause.Message != "deeper" || failure.Issues[0] != (PayloadIssue{Message: "no", Path: "n"}) {
		t.Errorf("got %+v", failure)
	}
	if len(details.History) != 1 || details.History[0].Attempt != 2 || details.History[0].Duration != 250*time.Millisecond {
		t.Errorf("got %+v", details.History)
	}
	var payload struct{ N int }
	if err := details.Decode(&payload); err != nil || payload.N != 1 {
		t.Errorf("got %+v, %v", payload, err)
	}
}

func TestWhatIsReceived(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, `{"messages":[{"id":"a","topic":"t","partition":2,"key":"k","payload":{"n":1},"headers":{"h":"1"},"attempt":2,`+
		`"maxAttempts":5,"publishedAt":"2026-01-01T00:00:00.000Z","dueAt":"2026-01-01T00:00:01.500Z","lease":1500.5,"receipt":"r"}]}`)
	messages, err := newTestClient(t, fake.URL, Options{}).Receive(context.Background(), ReceiveOptions{}, "t")
	if err != nil || len(messages) != 1 {
		t.Fatalf("got %v, %v", messages, err)
	}
	message := *messages[0]
	message.client = nil
	expected := Message{
		ID: "a", Topic: "t", Partition: 2, Key: "k", Payload: json.RawMessage(`{"n":1}`), Headers: map[string]string{"h": "1"}, Attempt: 2,
		MaxAttempts: 5, PublishedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), DueAt: time.Date(2026, 1, 1, 0, 0, 1, 5e8, time.UTC),
		Lease: 1500*time.Millisecond + 500*time.Microsecond, Receipt: "r",
	}
	if !reflect.DeepEqual(message, expected) {
		t.Fatalf("got %+v", message)
	}
	var payload struct{ N int }
	if err := message.Decode(&payload); err != nil || payload.N != 1 {
		t.Fatalf("got %+v, %v", payload, err)
	}
}

func TestMessagesAreSettled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	queue := newFakeQueue(t, "ack", "retry", "later", "dead", "release")
	client := newTestClient(t, queue.URL, Options{})
	messages, err := client.Receive(ctx, ReceiveOptions{Max: 5}, "t")
	if err != nil || len(messages) != 5 {
		t.Fatalf("got %v, %v", messages, err)
	}
	settles := []func() (Status, error){
		func() (Status, error) { return messages[0].Ack(ctx) },
		func() (Status, error) { return messages[1].Retry(ctx, "why") },
		func() (Status, error) { return messages[2].RetryAfter(ctx, 0, "") },
		func() (Status, error) { return messages[3].Dead(ctx, "why") },
		func() (Status, error) { return messages[4].Release(ctx) },
	}
	for i, expected := range []string{"ack", "retry why", "retry 0", "dead why", "release"} {
		if status, err := settles[i](); status != StatusSettled || err != nil {
			t.Errorf("%s: got %s, %v", expected, status, err)
		}
		if got := queue.outcomes(messages[i].ID); !reflect.DeepEqual(got, []string{expected}) {
			t.Errorf("%s: got %q", expected, got)
		}
	}
	if status, err := messages[0].Extend(ctx, time.Second); status != StatusExtended || err != nil {
		t.Errorf("got %s, %v", status, err)
	}
}

func TestAScheduleIsRead(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, `{"id":"s","topic":"t","every":90000,"paused":false,"catchUp":"latest","next":"2026-01-01T00:00:01.500Z","missed":2}`)
	schedule, err := newTestClient(t, fake.URL, Options{}).Schedules().Get(context.Background(), "s")
	if err != nil || schedule.ID != "s" || schedule.Every != 90*time.Second || schedule.CatchUp != "latest" || schedule.Missed != 2 {
		t.Fatalf("got %+v, %v", schedule, err)
	}
	if !schedule.Next.Equal(time.Date(2026, 1, 1, 0, 0, 1, 5e8, time.UTC)) || !schedule.Last.IsZero() {
		t.Fatalf("got %+v", schedule)
	}
}

func TestSchedulesThatCannotBeToldAreAnErrorBesideTheOthers(t *testing.T) {
	t.Parallel()
	failed := `{"topic":"away","ids":["a","b"],"error":` + problemBody(ErrBrokerUnavailable, 503) + `}`
	fake := answerWith(t, 200, `{"schedules":[{"id":"s"}],"failed":[`+failed+`]}`)
	schedules, err := newTestClient(t, fake.URL, Options{}).Schedules().List(context.Background(), "")
	var untold *ListSchedulesError
	if !errors.As(err, &untold) || !errors.Is(err, ErrBrokerUnavailable) || len(untold.Failed) != 1 {
		t.Fatalf("got %v", err)
	}
	if one := untold.Failed[0]; one.Topic != "away" || !reflect.DeepEqual(one.IDs, []string{"a", "b"}) {
		t.Errorf("got %+v", one)
	}
	if len(schedules) != 1 || schedules[0].ID != "s" {
		t.Errorf("got %+v", schedules)
	}
}
