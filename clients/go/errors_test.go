package delayqueue

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestEveryCodeHasItsError(t *testing.T) {
	t.Parallel()
	all := []error{
		ErrInvalidArgument, ErrUnauthorized, ErrForbidden, ErrTopicNotServed, ErrNotFound, ErrDuplicateMessage, ErrPayloadTooLarge,
		ErrTooManyWaiting, ErrUnavailable, ErrNotReplicated,
	}
	codes := map[Code]error{
		"INVALID_ARGUMENT": ErrInvalidArgument, "SERIALIZATION": ErrInvalidArgument, "INVALID_PAYLOAD": ErrInvalidArgument,
		"INVALID_JSON": ErrInvalidArgument, "UNAUTHORIZED": ErrUnauthorized, "FORBIDDEN": ErrForbidden, "NOT_FOUND": nil,
		"TOPIC_NOT_SERVED": ErrTopicNotServed, "MESSAGE_NOT_FOUND": ErrNotFound, "SCHEDULE_NOT_FOUND": ErrNotFound,
		"METHOD_NOT_ALLOWED": nil, "DUPLICATE_MESSAGE": ErrDuplicateMessage, "CONFIGURATION": nil, "PAYLOAD_TOO_LARGE": ErrPayloadTooLarge,
		"BODY_TOO_LARGE": ErrPayloadTooLarge, "UNSUPPORTED_MEDIA_TYPE": nil, "TOO_MANY_WAITING": ErrTooManyWaiting, "INTERNAL": nil,
		"BROKER_UNAVAILABLE": ErrUnavailable, "NOT_REPLICATED": ErrNotReplicated, "SHUTTING_DOWN": ErrUnavailable, "UNREACHABLE": ErrUnavailable,
	}
	for code, expected := range codes {
		err := error(&Error{Code: code, Status: 400})
		for _, sentinel := range all {
			if is := errors.Is(err, sentinel); is != (sentinel == expected) {
				t.Errorf("%s is %v: %v", code, sentinel, is)
			}
		}
	}
}

func TestTextsOfErrors(t *testing.T) {
	t.Parallel()
	for expected, err := range map[string]*Error{
		"delayqueue: why (DUPLICATE_MESSAGE, status 409)": {Code: CodeDuplicateMessage, Status: 409, Detail: "why"},
		"delayqueue: why (UNREACHABLE)":                   {Code: CodeUnreachable, Detail: "why"},
		"delayqueue: why (status 418)":                    {Status: 418, Detail: "why"},
	} {
		if err.Error() != expected {
			t.Errorf("got %q", err.Error())
		}
	}
}

func TestSomeOfManyAreRefused(t *testing.T) {
	t.Parallel()
	fake := answerWith(t, 207, `{"messages":[`+publishedBody+`,{"error":`+problemBody(CodeDuplicateMessage, 409)+`}]}`)
	client := newTestClient(t, fake.URL, Options{})
	results, err := client.PublishMany(context.Background(), "t", []Outgoing{{Payload: 1}, {Payload: 2}})
	var partly *PublishManyError
	if !errors.As(err, &partly) || !errors.Is(err, ErrDuplicateMessage) || errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "1 of 2 messages were refused") {
		t.Fatalf("got %v", err)
	}
	if results[0].ID != "a" || results[0].Err != nil || !errors.Is(results[1].Err, ErrDuplicateMessage) {
		t.Fatalf("got %+v", results)
	}
}
