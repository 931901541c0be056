package delayqueue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second

	// Nothing that refuses a request has more to say.
	maxProblemBytes = 1 << 20
)

// call is one request as often as it takes.
type call struct {
	method string
	// path is made of segments, which are escaped one by one: ids may have any characters.
	path  []string
	query url.Values
	body  any
	// keyed calls must not be done twice, so every try has the same idempotency key.
	keyed bool
	// wait is how long the gateway may take for its answer beside the usual.
	wait time.Duration
	// retryFor is the client's if it is 0, never if it is negative.
	retryFor time.Duration
}

// do sends a call until it is answered, or can not be any more, and decodes the answer.
func (c *Client) do(ctx context.Context, given call, answer any) error {
	request, err := c.prepare(given)
	if err != nil {
		return err
	}
	retryFor := given.retryFor
	if retryFor == 0 {
		retryFor = c.retryFor
	}
	began := time.Now()
	for tries := 0; ; tries++ {
		failure := c.try(ctx, request, answer)
		if failure == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ended(ctx, given, failure)
		}
		pause := pauseAfter(failure, tries)
		if !failure.isOnTheWay() || time.Since(began)+pause > retryFor {
			return failure
		}
		if sleep(ctx, pause) != nil {
			return ended(ctx, given, failure)
		}
	}
}

// ended says why a call has no answer whose context is done, and what it met with until then.
func ended(ctx context.Context, given call, failure *Error) error {
	return fmt.Errorf("delayqueue: %s /%s: %w (the last try: %s)", given.method, strings.Join(given.path, "/"), ctx.Err(), failure.Detail)
}

type preparedRequest struct {
	method  string
	url     string
	header  http.Header
	body    []byte
	timeout time.Duration
}

func (c *Client) prepare(given call) (*preparedRequest, error) {
	request := &preparedRequest{
		method:  given.method,
		url:     c.urlOf(given),
		header:  c.header.Clone(),
		timeout: c.timeout + given.wait,
	}
	request.header.Set("Accept", "application/json")
	if given.body != nil {
		body, err := encode(given.body)
		if err != nil {
			return nil, err
		}
		request.body = body
		request.header.Set("Content-Type", "application/json")
	}
	if given.keyed {
		key, err := newIdempotencyKey()
		if err != nil {
			return nil, err
		}
		request.header.Set("Idempotency-Key", key)
	}
	return request, nil
}

func (c *Client) urlOf(given call) string {
	var address strings.Builder
	address.WriteString(c.base.String())
	for _, segment := range given.path {
		address.WriteString("/")
		address.WriteString(url.PathEscape(segment))
	}
	if query := given.query.Encode(); query != "" {
		address.WriteString("?")
		address.WriteString(query)
	}
	return address.String()
}

// try sends a request once.
func (c *Client) try(ctx context.Context, prepared *preparedRequest, answer any) *Error {
	ctx, cancel := context.WithTimeout(ctx, prepared.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, prepared.method, prepared.url, bytes.NewReader(prepared.body))
	if err != nil {
		return &Error{Code: CodeInvalidArgument, Detail: "the request cannot be made: " + err.Error(), cause: err}
	}
	request.Header = prepared.header
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err, prepared.timeout)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return problemOf(response)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return c.unreachable(err, prepared.timeout)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return &Error{
			Code:   CodeUnreadable,
			Status: response.StatusCode,
			Detail: fmt.Sprintf("what %s answered is not of a gateway of this version: %v", c.base.Redacted(), err),
			cause:  err,
		}
	}
	return nil
}

func (c *Client) unreachable(err error, timeout time.Duration) *Error {
	// The method and URL that net/http puts in front are those of the call; the cause is enough.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	what := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		what = fmt.Sprintf("no answer within %v", timeout)
	}
	return &Error{
		Code:   CodeUnreachable,
		Detail: fmt.Sprintf("the gateway at %s cannot be reached: %s", c.base.Redacted(), what),
		cause:  err,
	}
}

type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
}

func (p problem) toError() *Error {
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	return &Error{Code: p.Code, Status: p.Status, Detail: detail}
}

func problemOf(response *http.Response) *Error {
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxProblemBytes))
	var told problem
	if json.Unmarshal(content, &told) != nil || told.Code == "" {
		told = problem{Detail: "the answer was " + response.Status}
		if response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusServiceUnavailable ||
			response.StatusCode == http.StatusGatewayTimeout {
			told.Code = CodeUnreachable
		}
	}
	told.Status = response.StatusCode
	refused := told.toError()
	refused.RetryAfter = retryAfterOf(response.Header)
	return refused
}

// retryAfterOf understands seconds and dates; what is neither counts as nothing.
func retryAfterOf(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && time.Until(at) > 0 {
		return time.Until(at)
	}
	return 0
}

// pauseAfter grows with the tries, and differs from one caller to the next so that they do not all come back at once.
func pauseAfter(failure *Error, tries int) time.Duration {
	pause := longestPause
	if tries < 5 {
		pause = firstPause << tries
	}
	pause = pause/2 + time.Duration(mathrand.Int63n(int64(pause/2)+1))
	if pause < failure.RetryAfter {
		// Spread after what was asked for, never before.
		return failure.RetryAfter + pause/4
	}
	return pause
}

// sleep returns early, with the context's error, if that is done.
func sleep(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newIdempotencyKey() (string, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("delayqueue: no random bytes for an idempotency key: %w", err)
	}
	return hex.EncodeToString(random[:]), nil
}

// encode leaves <, > and & as they are: escaped, they would take six bytes each, and payloads have a limit.
func encode(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &Error{Code: CodeSerialization, Detail: "what is to be sent cannot be written as JSON: " + err.Error(), cause: err}
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}
