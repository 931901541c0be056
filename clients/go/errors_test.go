package delayqueue

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
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

// Each has a constant that is named like it.
func TestTheCodesAreThoseOfTheGateway(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../lib/gateway/problem.ts")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"GATEWAY_UNREACHABLE", "UNEXPECTED_ANSWER", "UNTRUSTED_CERTIFICATE", "NO_TOKEN"}
	for _, found := range regexp.MustCompile(`(?m)^  ([A-Z_]+): \{ status`).FindAllStringSubmatch(string(source), -1) {
		codes = append(codes, found[1])
	}
	constants := map[string]string{}
	for _, found := range regexp.MustCompile(`Err(\w+) +Code = "([A-Z_]+)"`).FindAllStringSubmatch(string(own), -1) {
		constants[found[2]] = found[1]
	}
	for _, code := range codes {
		if name, ok := constants[code]; !ok || !strings.EqualFold(name, strings.ReplaceAll(code, "_", "")) {
			t.Errorf("%s has the constant %q", code, name)
		}
	}
	if len(codes) < 20 || len(constants) != len(codes) {
		t.Errorf("the client has %d codes of %d", len(constants), len(codes))
	}
}
