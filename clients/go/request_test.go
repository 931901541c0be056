package delayqueue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const publishedBody = `{"id":"a","topic":"t","partition":3,"dueAt":"2026-12-24T18:00:00.500Z","duplicate":false}`

func TestACallIsRepeatedUnderOneKey(t *testing.T) {
	t.Parallel()
	failures := map[string]func(w http.ResponseWriter){
		"a lost connection": func(http.ResponseWriter) { loseConnection() },
		"a half answer": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			respond(w, 201, `{"id":"a"`)
		},
		"503 of the gateway": func(w http.ResponseWriter) { respond(w, 503, problemBody(ErrBrokerUnavailable, 503)) },
		"429":                func(w http.ResponseWriter) { respond(w, 429, problemBody(ErrTooManyWaiting, 429)) },
		"502 of a proxy":     func(w http.ResponseWriter) { respond(w, 502, "<h1>Bad Gateway</h1>") },
	}
	for name, fail := range failures {
		fail := fail
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, tries int) {
				if tries < 3 {
					fail(w)
				} else {
					respond(w, 201, publishedBody)
				}
			})
			client := newTestClient(t, fake.URL, Options{})
			published, err := client.Publish(context.Background(), "t", 1, nil)
			if err != nil || published.ID != "a" || published.Partition != 3 {
				t.Fatalf("got %+v, %v", published, err)
			}
			keys := map[string]bool{}
			for _, request := range fake.seen() {
				keys[request.header.Get("Idempotency-Key")] = true
			}
			if len(fake.seen()) != 3 || len(keys) != 1 || keys[""] {
				t.Fatalf("%d requests with the keys %v", len(fake.seen()), keys)
			}
		})
	}
}

func TestEachCallHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 201, publishedBody)
	client := newTestClient(t, fake.URL, Options{})
	for i := 0; i < 2; i++ {
		if _, err := client.Publish(context.Background(), "t", 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	seen := fake.seen()
	if seen[0].header.Get("Idempotency-Key") == seen[1].header.Get("Idempotency-Key") {
		t.Fatal("two publishes have the same key")
	}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 413, 500} {
		fake := answerWith(t, status, problemBody("SOME_CODE", status))
		_, err := newTestClient(t, fake.URL, Options{}).Publish(context.Background(), "t", 1, nil)
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != status || refused.Code != "SOME_CODE" || refused.Detail != "a detail" {
			t.Errorf("%d: got %v", status, err)
		}
		if len(fake.seen()) != 1 {
			t.Errorf("%d: %d requests", status, len(fake.seen()))
		}
	}
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	fake := newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, tries int) {
		if tries == 1 {
			w.Header().Set("Retry-After", "1")
			respond(w, 503, problemBody(ErrReceiverUnavailable, 503))
		} else {
			respond(w, 201, publishedBody)
		}
	})
	began := time.Now()
	if _, err := newTestClient(t, fake.URL, Options{}).Publish(context.Background(), "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Fatalf("repeated after %v", took)
	}
}

func TestAReceiveMayWaitForLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	fake := newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, _ int) {
		time.Sleep(3 * timeout)
		respond(w, 200, `{"messages":[]}`)
	})
	for name, options := range map[string]Options{
		"its own":            {Timeout: timeout, RetryFor: -1},
		"that of the sender": {HTTPClient: &http.Client{Timeout: timeout}, RetryFor: -1},
	} {
		client := newTestClient(t, fake.URL, options)
		if _, err := client.Receive(context.Background(), ReceiveOptions{Wait: patience}, "t"); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := client.Topics(context.Background()); !errors.Is(err, ErrGatewayUnreachable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRepeatingEndsAfterRetryFor(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 503, problemBody(ErrBrokerUnavailable, 503))
	_, err := newTestClient(t, fake.URL, Options{RetryFor: time.Second}).Publish(context.Background(), "t", 1, nil)
	if !errors.Is(err, ErrBrokerUnavailable) {
		t.Fatalf("got %v", err)
	}
	before := len(fake.seen())
	_, err = newTestClient(t, fake.URL, Options{RetryFor: -1}).Get(context.Background(), "t", "a")
	if tries := len(fake.seen()) - before; !errors.Is(err, ErrBrokerUnavailable) || tries != 1 {
		t.Fatalf("%d tries, got %v", tries, err)
	}
}

func TestAContextEndsACall(t *testing.T) {
	t.Parallel()
	hanging := newFakeServer(t, func(_ http.ResponseWriter, request fakeRequest, _ int) { <-request.gone })
	away := answerWith(t, 503, problemBody(ErrBrokerUnavailable, 503))
	for name, url := range map[string]string{"in a try": hanging.URL, "between two": away.URL} {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		_, err := newTestClient(t, url, Options{}).Publish(ctx, "t", 1, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAPeerThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	fake := newFakeServer(t, func(w http.ResponseWriter, request fakeRequest, tries int) {
		if tries == 1 {
			<-request.gone
		}
		respond(w, 201, publishedBody)
	})
	client := newTestClient(t, fake.URL, Options{Timeout: 500 * time.Millisecond, RetryFor: patience})
	if _, err := client.Publish(context.Background(), "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	if len(fake.seen()) < 2 {
		t.Fatalf("%d tries", len(fake.seen()))
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, "{}")
	fake.Close()
	_, err := newTestClient(t, fake.URL, Options{RetryFor: -1, Token: "the-secret"}).Stats(context.Background(), "t")
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != ErrGatewayUnreachable || !failure.Temporary() || errors.Unwrap(failure) == nil {
		t.Fatalf("got %#v", err)
	}
	if !strings.Contains(err.Error(), fake.URL) || strings.Contains(err.Error(), "the-secret") {
		t.Fatalf("got %v", err)
	}
}

func TestAnAnswerOfSomethingElseIsNotRepeated(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, "<h1>Welcome</h1>")
	_, err := newTestClient(t, fake.URL, Options{}).Stats(context.Background(), "t")
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != ErrUnexpectedAnswer || len(fake.seen()) != 1 {
		t.Fatalf("%d requests, got %v", len(fake.seen()), err)
	}
	// That a web server has no such page does not mean that there is no such message.
	notFound := answerWith(t, 404, "<h1>Not Found</h1>")
	_, err = newTestClient(t, notFound.URL, Options{}).Get(context.Background(), "t", "a")
	if !errors.As(err, &failure) || failure.Status != 404 || failure.Code != ErrUnexpectedAnswer {
		t.Fatalf("got %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	fake := newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, _ int) {
		w.Header().Set("Location", "/login")
		w.WriteHeader(http.StatusFound)
	})
	_, err := newTestClient(t, fake.URL, Options{}).Publish(context.Background(), "t", 1, nil)
	var failure *Error
	if !errors.As(err, &failure) || failure.Status != http.StatusFound || len(fake.seen()) != 1 {
		t.Fatalf("%d requests, got %v", len(fake.seen()), err)
	}
}

func TestConnectionsAreNotSharedByRequests(t *testing.T) {
	t.Parallel()
	versions := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		versions <- r.Proto
		respond(w, 200, "{}")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := newTestClient(t, server.URL, Options{})
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
	if _, err := client.Stats(context.Background(), "t"); err != nil {
		t.Fatal(err)
	}
	if version := <-versions; version != "HTTP/1.1" {
		t.Fatalf("it was %s", version)
	}
}

func TestTheTokenIsSentAndNotPrinted(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 200, `{"topics":["a"]}`)
	client := newTestClient(t, fake.URL+"/", Options{Token: "the-secret", Header: http.Header{"X-Tenant": {"7"}}})
	topics, err := client.Topics(context.Background())
	if err != nil || len(topics) != 1 || topics[0] != "a" {
		t.Fatalf("got %v, %v", topics, err)
	}
	request := fake.seen()[0]
	if request.uri != "/v1/topics" || request.header.Get("Authorization") != "Bearer the-secret" || request.header.Get("X-Tenant") != "7" {
		t.Fatalf("sent %+v", request)
	}
	if printed := fmt.Sprintf("%v %+v %s", client, client, client); strings.Contains(printed, "secret") {
		t.Fatalf("printed %s", printed)
	}
}

func TestWrongURLsAndOptions(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "localhost:8080", "redis://localhost", "http://", "http://h/?a=1", "http://h/#a", "http://[::1"} {
		if _, err := New(wrong, Options{}); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
	for _, options := range []Options{{Timeout: -1}, {RetryFor: 101 * time.Second}, {Token: "from-a-file\n"}, {Token: "with space"}} {
		_, err := New("http://h", options)
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != ErrInvalidArgument || strings.Contains(err.Error(), "from-a-file") {
			t.Errorf("%+v: got %v", options, err)
		}
	}
}
