package delayqueue

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The gateway keeps no longer texts.
const maxText = 4096

// timeoutError is why an attempt has failed that took too long.
type timeoutError struct {
	timeout time.Duration
	cause   error
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the handler did not finish within its timeout of %v: %v", e.timeout, e.cause)
}

func (e *timeoutError) Unwrap() error { return e.cause }

func toHandlerError(err error) *HandlerError {
	told := &HandlerError{Name: nameOf(err), Message: cut(err.Error())}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		told.Stack = cut(string(panicked.Stack))
	}
	return told
}

// nameOf is the type of an error, or what the library calls it.
func nameOf(err error) string {
	var late *timeoutError
	var given *unrecoverable
	var panicked *PanicError
	switch {
	case errors.As(err, &given):
		return "UnrecoverableError"
	case errors.As(err, &late):
		return "HandlerTimeoutError"
	case errors.As(err, &panicked):
		return "PanicError"
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	if strings.HasPrefix(name, "errors.") || strings.HasPrefix(name, "fmt.") {
		return "error" // These types say nothing.
	}
	return name
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText])
	}
	return text
}
