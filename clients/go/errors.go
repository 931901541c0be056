package delayqueue

import (
	"errors"
	"fmt"
	"time"
)

// Code names what went wrong. It is stable; texts are not.
type Code string

// The codes of the gateway, and those of this client.
const (
	CodeInvalidArgument      Code = "INVALID_ARGUMENT"
	CodeInvalidJSON          Code = "INVALID_JSON"
	CodeInvalidPayload       Code = "INVALID_PAYLOAD"
	CodeSerialization        Code = "SERIALIZATION"
	CodeUnauthorized         Code = "UNAUTHORIZED"
	CodeForbidden            Code = "FORBIDDEN"
	CodeRouteNotFound        Code = "NOT_FOUND"
	CodeTopicNotServed       Code = "TOPIC_NOT_SERVED"
	CodeMessageNotFound      Code = "MESSAGE_NOT_FOUND"
	CodeScheduleNotFound     Code = "SCHEDULE_NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeDuplicateMessage     Code = "DUPLICATE_MESSAGE"
	CodeConfiguration        Code = "CONFIGURATION"
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	CodeBodyTooLarge         Code = "BODY_TOO_LARGE"
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeTooManyWaiting       Code = "TOO_MANY_WAITING"
	CodeInternal             Code = "INTERNAL"
	CodeBrokerUnavailable    Code = "BROKER_UNAVAILABLE"
	CodeNotReplicated        Code = "NOT_REPLICATED"
	CodeShuttingDown         Code = "SHUTTING_DOWN"

	// CodeUnreachable is this client's: no answer came, or one of something between here and the gateway that could not reach it.
	CodeUnreachable Code = "UNREACHABLE"
	// CodeUnreadable is this client's: what answered is not the gateway.
	CodeUnreadable Code = "UNREADABLE_ANSWER"
)

// What an [*Error] can be compared with by [errors.Is].
var (
	// ErrInvalidArgument: a topic, an option or a payload is not as it has to be; Detail says how it is to be.
	ErrInvalidArgument = errors.New("delayqueue: invalid argument")
	// ErrUnauthorized: there is no token, or the gateway does not know it.
	ErrUnauthorized = errors.New("delayqueue: unauthorized")
	// ErrForbidden: the token lacks the right for this topic.
	ErrForbidden = errors.New("delayqueue: forbidden")
	// ErrTopicNotServed: the gateway does not serve the topic.
	ErrTopicNotServed = errors.New("delayqueue: topic not served")
	// ErrNotFound: there is no such message or schedule.
	ErrNotFound = errors.New("delayqueue: not found")
	// ErrDuplicateMessage: the id exists.
	ErrDuplicateMessage = errors.New("delayqueue: duplicate message")
	// ErrPayloadTooLarge: the payload, or the request in all, is larger than the gateway takes.
	ErrPayloadTooLarge = errors.New("delayqueue: payload too large")
	// ErrTooManyWaiting: the gateway has as many requests that wait as it takes.
	ErrTooManyWaiting = errors.New("delayqueue: too many waiting")
	// ErrUnavailable: the gateway or its Redis could not be reached, also not by repeating the call. Whether it was done is not known.
	ErrUnavailable = errors.New("delayqueue: unavailable")
	// ErrNotReplicated: fewer replicas than asked for have confirmed. The message may exist.
	ErrNotReplicated = errors.New("delayqueue: not replicated")
)

var sentinels = map[Code]error{
	CodeInvalidArgument:   ErrInvalidArgument,
	CodeInvalidJSON:       ErrInvalidArgument,
	CodeInvalidPayload:    ErrInvalidArgument,
	CodeSerialization:     ErrInvalidArgument,
	CodeUnauthorized:      ErrUnauthorized,
	CodeForbidden:         ErrForbidden,
	CodeTopicNotServed:    ErrTopicNotServed,
	CodeMessageNotFound:   ErrNotFound,
	CodeScheduleNotFound:  ErrNotFound,
	CodeDuplicateMessage:  ErrDuplicateMessage,
	CodePayloadTooLarge:   ErrPayloadTooLarge,
	CodeBodyTooLarge:      ErrPayloadTooLarge,
	CodeTooManyWaiting:    ErrTooManyWaiting,
	CodeBrokerUnavailable: ErrUnavailable,
	CodeShuttingDown:      ErrUnavailable,
	CodeUnreachable:       ErrUnavailable,
	CodeNotReplicated:     ErrNotReplicated,
}

// Error is what the gateway refused, or why it could not be asked.
type Error struct {
	// Code is empty if something other than the gateway refused, such as a proxy; then there is only the Status.
	Code Code
	// Status is that of HTTP; 0 if there was no answer.
	Status int
	// Detail is a sentence that says what was given, what is allowed and what to do.
	Detail string
	// RetryAfter is how long the gateway asks to wait, if it does.
	RetryAfter time.Duration

	cause error
}

func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return fmt.Sprintf("delayqueue: %s (%s)", e.Detail, e.Code)
	case e.Code == "":
		return fmt.Sprintf("delayqueue: %s (status %d)", e.Detail, e.Status)
	default:
		return fmt.Sprintf("delayqueue: %s (%s, status %d)", e.Detail, e.Code, e.Status)
	}
}

// Unwrap gives the error of the connection, if that is what failed.
func (e *Error) Unwrap() error { return e.cause }

// Is makes [errors.Is] work with the Err values of this package.
func (e *Error) Is(target error) bool {
	sentinel, ok := sentinels[e.Code]
	return ok && sentinel == target
}

// isOnTheWay tells failures that may be over a moment later from answers that stay the same.
func (e *Error) isOnTheWay() bool {
	switch e.Status {
	case 0, 429, 502, 503, 504:
		return e.Code != CodeUnreadable
	default:
		return false
	}
}

// PublishManyError says that some messages of a [Client.PublishMany] were refused; the others are published. [errors.Is] finds the reason of
// each of them.
type PublishManyError struct {
	// Results are those that PublishMany returned.
	Results []PublishResult
}

func (e *PublishManyError) Error() string {
	refused, first := 0, error(nil)
	for _, result := range e.Results {
		if result.Err == nil {
			continue
		}
		if first == nil {
			first = result.Err
		}
		refused++
	}
	return fmt.Sprintf("delayqueue: %d of %d messages were refused; the first one: %v", refused, len(e.Results), first)
}

// Is makes [errors.Is] look into each reason.
func (e *PublishManyError) Is(target error) bool {
	for _, result := range e.Results {
		if errors.Is(result.Err, target) {
			return true
		}
	}
	return false
}
