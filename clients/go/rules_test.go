package delayqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestNumbersArriveAsTheyAreOrAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 201, publishedBody)
	client := newTestClient(t, fake.URL, Options{})
	publish := func(number any) error {
		payload := map[string]any{"a": map[string]any{"b": 1}, "lines": []any{map[string]any{"id": 1}, map[string]any{"id": number}}}
		_, err := client.Publish(context.Background(), "t", payload, nil)
		return err
	}
	for _, number := range []any{
		uint64(1<<53 + 1), -(1<<53 + 1), int64(1 << 60), math.Copysign(0, -1), json.Number("1e400"), json.Number("0.10000000000000000001"),
	} {
		if err := publish(number); !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "payload.lines[1].id ") {
			t.Errorf("%v: got %v", number, err)
		}
	}
	for _, number := range []any{1 << 53, 1<<53 + 2, int64(1e17), 1e300, 0.1, json.Number("1.50e2"), "9007199254740993 -0 1e400", 0} {
		if err := publish(number); err != nil {
			t.Errorf("%v: got %v", number, err)
		}
	}
	var read any
	if err := (&Message{Payload: json.RawMessage(`[9007199254740993]`)}).Decode(&read); err != nil || fmt.Sprint(read) != "[9007199254740993]" {
		t.Errorf("read %v, %v", read, err)
	}
}

func TestAPayloadThatIsNestedTooDeepStopsOnlyItself(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	const message = `{"id":"%s","headers":{"k]":"}[\""},"payload":%s,"lease":1000,"receipt":"r-%s"}`
	some := fmt.Sprintf(message, "a", `{"x":1}`, "a") + "," + fmt.Sprintf(message, "deep", deep, "deep") + "," + fmt.Sprintf(message, "b", "2", "b")
	fake := newFakeServer(t, func(w http.ResponseWriter, request fakeRequest, tries int) {
		if tries == 1 {
			respond(w, 200, `{"messages":[`+some+`]}`)
		} else {
			respond(w, 200, `{"results":[{"receipt":"r-deep","status":"settled"}]}`)
		}
	})
	messages, err := newTestClient(t, fake.URL, Options{}).Receive(context.Background(), ReceiveOptions{Max: 3}, "t")
	if err != nil || len(messages) != 2 || messages[0].ID != "a" || string(messages[0].Payload) != `{"x":1}` || messages[1].ID != "b" {
		t.Fatalf("got %v, %v", messages, err)
	}
	settled := `{"settlements":[{"outcome":"dead","reason":"` + tooDeep + `","receipt":"r-deep"}]}`
	if seen := fake.seen(); len(seen) != 2 || seen[1].body != settled {
		t.Fatalf("asked %v", seen)
	}
}

func TestALongRetryAfterIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	response := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"3600"}}, Body: http.NoBody}
	if pause := pauseAfter(problemOf(response), 0); pause < 30*time.Second || pause > 31*time.Second {
		t.Errorf("it pauses for %v", pause)
	}
}

func TestAWorkerEndsAtAGuardAndGoesOnAtAProxy(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]Code{401: ErrUnauthorized, 403: ErrForbidden, 400: ErrUnexpectedAnswer, 404: ErrUnexpectedAnswer} {
		response := &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: http.NoBody}
		refused := problemOf(response)
		if refused.Code != code || refused.isRefusal() != (status == 401 || status == 403) {
			t.Errorf("%d: got %v, refusal %v", status, refused, refused.isRefusal())
		}
	}
}

func TestAnUntrustedCertificateIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	_, err := newTestClient(t, server.URL, Options{}).Topics(context.Background())
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != ErrUntrustedCertificate || !refused.isRefusal() {
		t.Fatalf("got %v", err)
	}
}

func TestATokenThatIsRefusedIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	fake := newFakeServer(t, func(w http.ResponseWriter, request fakeRequest, _ int) {
		if request.header.Get("Authorization") == "Bearer good" {
			respond(w, 201, publishedBody)
		} else {
			respond(w, 401, problemBody(ErrUnauthorized, 401))
		}
	})
	publish := func(tokens ...string) error {
		source := func(context.Context) (string, error) {
			token := tokens[0]
			tokens = tokens[1:]
			if token == "" {
				return "", errors.New("the server of tokens is away")
			}
			return token, nil
		}
		_, err := newTestClient(t, fake.URL, Options{TokenSource: source}).Publish(context.Background(), "t", 1, nil)
		return err
	}
	if err := publish("old", "good"); err != nil {
		t.Errorf("got %v", err)
	}
	if err := publish("", "good"); err != nil {
		t.Errorf("got %v", err)
	}
	if err := publish("old", "older"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	if agent := fake.seen()[0].header.Get("User-Agent"); agent != "nestjs-delay-queue-go" {
		t.Errorf("it is %q", agent)
	}
}

func TestWhatEndsTogetherIsSettledTogether(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := 0; i < 20; i++ {
		ids = append(ids, fmt.Sprint(i))
	}
	queue := newFakeQueue(t, ids...)
	slow := func(http.ResponseWriter, fakeRequest) bool { time.Sleep(20 * time.Millisecond); return false }
	queue.refuse = slow
	startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{Concurrency: 20})
	for _, id := range ids {
		eventually(t, id+" is settled", settledAs(queue, id, "ack"))
	}
	host, _ := os.Hostname()
	if body := queue.seen()[0].body; !strings.Contains(body, `"consumer":"`+host+`"`) {
		t.Errorf("who receives is not said: %s", body)
	}
	if settles := queue.requestsTo("/v1/settle"); settles >= 20 {
		t.Errorf("%d requests have settled 20 messages", settles)
	}
}

func TestLeasesAreRenewedTogether(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := 0; i < 20; i++ {
		ids = append(ids, fmt.Sprint(i))
	}
	queue := newFakeQueue(t, ids...)
	queue.refuse = func(_ http.ResponseWriter, request fakeRequest) bool {
		if request.uri == "/v1/extend" {
			time.Sleep(20 * time.Millisecond)
		}
		return false
	}
	end := make(chan struct{})
	worker := startWorker(t, queue, func(context.Context, *Message) error { <-end; return nil }, WorkerOptions{Concurrency: 20, Lease: patience}, renewsOften)
	for _, id := range ids {
		eventually(t, id+" is renewed", func() bool { return queue.renewals(id) >= 2 })
	}
	close(end)
	if err := worker.stopped(t); err != nil || worker.told(ErrLeaseLost) != 0 {
		t.Errorf("got %v, was told %v", err, worker.errors)
	}
	requests, renewals := queue.requestsTo("/v1/extend"), 0
	for _, id := range ids {
		renewals += queue.renewals(id)
	}
	if requests >= renewals {
		t.Errorf("%d requests have renewed %d times", requests, renewals)
	}
}

func TestAPanicIsToldWithItsStack(t *testing.T) {
	t.Parallel()
	told := toHandlerError(&PanicError{Value: "boom", Stack: []byte("goroutine 1")})
	if *told != (HandlerError{"PanicError", "the handler panicked: boom", "goroutine 1"}) {
		t.Errorf("got %+v", told)
	}
	if name := toHandlerError(fmt.Errorf("why: %w", errors.New("x"))).Name; name != "error" {
		t.Errorf("the name is %q", name)
	}
}
