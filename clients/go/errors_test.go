package delayqueue

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestTextsOfErrors(t *testing.T) {
	t.Parallel()
	for expected, err := range map[string]*Error{
		"delayqueue: why (DUPLICATE_MESSAGE, status 409)": {Code: ErrDuplicateMessage, Status: 409, Detail: "why"},
		"delayqueue: why (GATEWAY_UNREACHABLE)":           {Code: ErrGatewayUnreachable, Detail: "why"},
	} {
		if err.Error() != expected {
			t.Errorf("got %q", err.Error())
		}
	}
}

func TestSomeOfManyAreRefused(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 207, `{"messages":[`+publishedBody+`,{"error":`+problemBody(ErrDuplicateMessage, 409)+`}]}`)
	client := newTestClient(t, fake.URL, Options{})
	results, err := client.PublishMany(context.Background(), "t", []Outgoing{{Payload: 1}, {Payload: 2}})
	if !errors.Is(err, ErrDuplicateMessage) || errors.Is(err, ErrMessageNotFound) || !strings.Contains(err.Error(), "1 of 2 messages were refused") {
		t.Fatalf("got %v", err)
	}
	if results[0].ID != "a" || results[0].Err != nil || !errors.Is(results[1].Err, ErrDuplicateMessage) {
		t.Fatalf("got %+v", results)
	}
}

func TestManyAreSentAgainIfRedisWasAwayForSome(t *testing.T) {
	t.Parallel()
	away := `{"error":` + problemBody(ErrBrokerUnavailable, 503) + `}`
	for name, test := range map[string]struct {
		options     Options
		first, last string
		refused     error
	}{
		"and then it was back":    {Options{}, away, publishedBody, nil},
		"and it stayed so":        {Options{RetryFor: -1}, away, away, ErrBrokerUnavailable},
		"and then it was refused": {Options{}, away, `{"error":` + problemBody(ErrDuplicateMessage, 409) + `}`, ErrDuplicateMessage},
	} {
		test := test
		fake := newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, tries int) {
			second := test.first
			if tries > 1 {
				second = test.last
			}
			respond(w, 207, `{"messages":[`+publishedBody+","+second+`]}`)
		})
		results, err := newTestClient(t, fake.URL, test.options).PublishMany(context.Background(), "t", []Outgoing{{Payload: 1}, {Payload: 2}})
		if len(results) != 2 || results[0].Err != nil || !errors.Is(err, test.refused) || !errors.Is(results[1].Err, test.refused) {
			t.Errorf("%s: got %+v, %v", name, results, err)
		}
		keys := map[string]bool{}
		for _, request := range fake.seen() {
			keys[request.header.Get("Idempotency-Key")] = true
		}
		if len(keys) != 1 || (test.options.RetryFor == 0) != (len(fake.seen()) == 2) {
			t.Errorf("%s: %d requests with the keys %v", name, len(fake.seen()), keys)
		}
	}
}

func TestWhatASchemaFoundWrongIsTold(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 400, `{"status":400,"code":"INVALID_PAYLOAD","detail":"it does not fit","issues":[{"message":"no number","path":"a.b"},{"message":"no"}]}`)
	_, err := newTestClient(t, fake.URL, Options{}).Publish(context.Background(), "t", 1, nil)
	var refused *Error
	if !errors.As(err, &refused) || len(refused.Issues) != 2 || refused.Issues[0] != (PayloadIssue{Message: "no number", Path: "a.b"}) {
		t.Fatalf("got %#v", err)
	}
}
