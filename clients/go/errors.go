package delayqueue

import (
	"fmt"
	"net/http"
	"time"
)

// Code names what went wrong. It is stable; texts are not. Each is an error that [errors.Is] finds:
//
//	errors.Is(err, delayqueue.ErrDuplicateMessage)
type Code string

func (c Code) Error() string { return string(c) }

// The codes of this client.
const (
	// ErrGatewayUnreachable: nothing has answered.
	ErrGatewayUnreachable Code = "GATEWAY_UNREACHABLE"
	// ErrUntrustedCertificate: what has answered has a certificate that is not trusted, so nothing was sent.
	ErrUntrustedCertificate Code = "UNTRUSTED_CERTIFICATE"
	// ErrNoToken: [Options.TokenSource] has failed.
	ErrNoToken Code = "NO_TOKEN"
	// ErrUnexpectedAnswer: something else than the gateway has answered, such as a proxy.
	ErrUnexpectedAnswer Code = "UNEXPECTED_ANSWER"
)

// Error is what the gateway or this client refused, or why the gateway could not be asked.
type Error struct {
	Code Code
	// Status is that of HTTP; 0 if there was no answer, or nothing was sent.
	Status int
	// Detail is a sentence that says what was given, what is allowed and what to do.
	Detail string
	// Issues are what the schema of the topic found wrong, if the code is [ErrInvalidPayload].
	Issues []PayloadIssue

	// retryAfter is how long the gateway asks to wait, if it does.
	retryAfter time.Duration
	cause      error
}

// invalid says what is wrong with what this client was given, of which nothing is sent.
func invalid(format string, values ...any) *Error {
	return &Error{Code: ErrInvalidArgument, Detail: fmt.Sprintf(format, values...)}
}

// miscounted says that what has answered is no gateway of this version.
func miscounted(results, expected int) *Error {
	return &Error{Code: ErrUnexpectedAnswer, Status: http.StatusOK, Detail: fmt.Sprintf("%d results were answered, and not %d", results, expected)}
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("delayqueue: %s (%s)", e.Detail, e.Code)
	}
	return fmt.Sprintf("delayqueue: %s (%s, status %d)", e.Detail, e.Code, e.Status)
}

// Unwrap gives the error of the connection, if that is what failed.
func (e *Error) Unwrap() error { return e.cause }

// Is makes [errors.Is] find the code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Temporary is true for what may be over a moment later: the client has repeated the call for RetryFor, and it can be made again. Whether it was
// done is not known. A message that too few replicas have confirmed is stored; to publish it again is for you to say.
func (e *Error) Temporary() bool {
	if e.Code == ErrNotReplicated {
		return false
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	default:
		return e.Code == ErrGatewayUnreachable || e.Code == ErrNoToken
	}
}

// isRefusal tells what is refused until something else is asked for. What a proxy has refused may be another matter a moment later; but 401
// and 403 are meant as they are, whoever says so, and have their codes.
func (e *Error) isRefusal() bool {
	return e.Code != ErrUnexpectedAnswer && e.Status < 500 && !e.Temporary()
}
