package delayqueue

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// longestRetryAfter is how long a proxy may ask to wait: what it is in front of may be back much earlier.
	longestRetryAfter = 30 * time.Second

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
	// keyed calls do harm if they are done twice, so every try has the same idempotency key. The gateway takes none for the others.
	keyed bool
	// wait is how long the gateway may take for its answer beside the usual.
	wait time.Duration
	// retryFor is the client's if it is 0. Negative: never.
	retryFor time.Duration
}

// send makes a call until it is answered, or can not be any more. With an error there may still be the answer to the last try.
func send[T any](ctx context.Context, c *Client, given call) (T, error) {
	request, err := c.prepare(given)
	if err != nil {
		return *new(T), err
	}
	if given.retryFor == 0 {
		given.retryFor = c.retryFor
	}
	end := time.Now().Add(given.retryFor)
	if given.retryFor > 0 {
		end = end.Add(given.wait)
	}
	credentials := &credentials{source: c.tokenSource, keyed: given.keyed}
	for tries := 0; ; tries++ {
		var answer T
		failure := credentials.authorize(ctx, request)
		if failure == nil {
			failure = c.try(ctx, request, c.timeout+given.wait, &answer)
		}
		if failure == nil {
			return answer, nil
		}
		if failure.Status == http.StatusUnauthorized && credentials.renew() {
			continue
		}
		pause := pauseAfter(failure, tries)
		mayRepeat := failure.Temporary() && time.Now().Add(pause).Before(end)
		if ctx.Err() == nil && !mayRepeat {
			return answer, failure
		}
		if sleep(ctx, pause) != nil {
			return answer, fmt.Errorf("delayqueue: %s /%s: %w (the last try: %s)", given.method, strings.Join(given.path, "/"), ctx.Err(), failure.Detail)
		}
	}
}

// prepare makes a request of which each try is a copy.
func (c *Client) prepare(given call) (*http.Request, error) {
	address := c.base.String()
	for _, segment := range given.path {
		if segment == "" {
			return nil, invalid("the name of a topic, and the id of a message or schedule, must not be empty")
		}
		address += "/" + url.PathEscape(segment)
	}
	if len(given.query) > 0 {
		address += "?" + given.query.Encode()
	}
	var body []byte
	if given.body != nil {
		var err error
		if body, err = encode(given.body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequest(given.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, invalid("the request cannot be made: %v", err)
	}
	request.Header = c.header.Clone()
	request.Header.Set("Accept", "application/json")
	if given.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if given.keyed {
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return nil, fmt.Errorf("delayqueue: no random bytes for an idempotency key: %w", err)
		}
		request.Header.Set("Idempotency-Key", hex.EncodeToString(random[:]))
	}
	return request, nil
}

// repeatable is an answer of which a part is to be asked for again.
type repeatable interface {
	// failed is nil if the answer is final.
	failed() *Error
}

// try sends a request once, and decodes the answer.
func (c *Client) try(ctx context.Context, prepared *http.Request, timeout time.Duration, answer any) *Error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := prepared.Clone(ctx)
	request.Body, _ = prepared.GetBody()
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err, timeout)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return problemOf(response)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return c.unreachable(err, timeout)
	}
	if err := read(content, answer); err != nil {
		detail := fmt.Sprintf("what %s answered is not of a gateway of this version: %v", c.base.Redacted(), err)
		return &Error{Code: ErrUnexpectedAnswer, Status: response.StatusCode, Detail: detail, cause: err}
	}
	if some, ok := answer.(repeatable); ok {
		return some.failed()
	}
	return nil
}

// inParts is an answer of which a part may keep the whole from being read.
type inParts interface {
	readApart(content []byte, cause error) error
}

func read(content []byte, answer any) error {
	err := json.Unmarshal(content, answer)
	if parts, ok := answer.(inParts); ok && err != nil {
		return parts.readApart(content, err)
	}
	return err
}

func (c *Client) unreachable(err error, timeout time.Duration) *Error {
	// The method and URL that net/http puts in front are those of the call; the cause is enough.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if isUntrusted(err) {
		detail := fmt.Sprintf("the certificate of %s is not trusted: %v", c.base.Redacted(), err)
		return &Error{Code: ErrUntrustedCertificate, Detail: detail, cause: err}
	}
	what := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		what = fmt.Sprintf("no answer within %v", timeout)
	}
	detail := fmt.Sprintf("the gateway at %s cannot be reached: %s", c.base.Redacted(), what)
	return &Error{Code: ErrGatewayUnreachable, Detail: detail, cause: err}
}

func isUntrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var certificate x509.CertificateInvalidError
	var host x509.HostnameError
	return errors.As(err, &authority) || errors.As(err, &certificate) || errors.As(err, &host)
}

// problem is how the gateway refuses.
type problem struct {
	Status int            `json:"status"`
	Detail string         `json:"detail"`
	Code   Code           `json:"code"`
	Issues []PayloadIssue `json:"issues"`
}

func (p problem) toError() *Error {
	return &Error{Code: p.Code, Status: p.Status, Detail: p.Detail, Issues: p.Issues}
}

func problemOf(response *http.Response) *Error {
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxProblemBytes))
	var told problem
	if json.Unmarshal(content, &told) != nil || told.Code == "" {
		told = problem{Code: codeOf(response.StatusCode), Detail: "the answer was " + response.Status + ", and not of the gateway"}
	}
	told.Status = response.StatusCode
	refused := told.toError()
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		refused.retryAfter = longestRetryAfter
		if seconds < int(longestRetryAfter/time.Second) {
			refused.retryAfter = time.Duration(seconds) * time.Second
		}
	}
	return refused
}

// codeOf is what an answer without a code means. A guard before the gateway means the same by these two.
func codeOf(status int) Code {
	switch status {
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	default:
		return ErrUnexpectedAnswer
	}
}

// pauseAfter grows with the tries, and differs from one caller to the next so that they do not all come back at once.
func pauseAfter(failure *Error, tries int) time.Duration {
	pause := longestPause
	if tries < 5 {
		pause = firstPause << tries
	}
	pause = pause/2 + time.Duration(time.Now().UnixNano())%(pause/2)
	if pause < failure.retryAfter {
		// Spread after what was asked for, never before.
		return failure.retryAfter + pause/4
	}
	return pause
}

// sleep returns early, with the context's error, if that is done.
func sleep(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
