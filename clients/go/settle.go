package delayqueue

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Outcome is what is to become of a message.
type Outcome string

const (
	// Ack: it is handled.
	Ack Outcome = "ack"
	// Retry: the attempt has failed, and the message comes again, or becomes a dead letter after its last attempt.
	Retry Outcome = "retry"
	// Dead: it becomes a dead letter at once.
	Dead Outcome = "dead"
	// Release: it comes again at once, and no attempt is spent.
	Release Outcome = "release"
)

// Settlement says what is to become of the message that a receipt stands for.
type Settlement struct {
	Receipt string
	Outcome Outcome
	// Delay is the time until a [Retry] comes again. nil: by the backoff of the message.
	Delay *time.Duration
	// Reason of a [Retry] or a [Dead]; kept with the message.
	Reason string
}

// SettleStatus is what a settlement has done.
type SettleStatus string

const (
	// Settled: it took effect.
	Settled SettleStatus = "settled"
	// Stale: nothing was changed. The message was settled before, or its lease had ended and it was delivered again.
	Stale SettleStatus = "stale"
	// Cancelled: the message was cancelled meanwhile, so it does not come again, whatever the outcome.
	Cancelled SettleStatus = "cancelled"
	// Replaced: the message was replaced meanwhile, and the new one comes.
	Replaced SettleStatus = "replaced"
)

// SettleResult is what became of one settlement.
type SettleResult struct {
	Receipt string       `json:"receipt"`
	Status  SettleStatus `json:"status"`
}

// Settle settles 1 to 1,000 messages with one request, in any process. The results are in the order of the settlements. If the response is
// lost, the call is repeated and answered as the first time.
func (c *Client) Settle(ctx context.Context, settlements ...Settlement) ([]SettleResult, error) {
	return c.settle(ctx, 0, settlements)
}

type wireSettlement struct {
	Receipt string  `json:"receipt"`
	Outcome Outcome `json:"outcome"`
	Delay   *millis `json:"delay,omitempty"`
	Reason  string  `json:"reason,omitempty"`
}

func (c *Client) settle(ctx context.Context, retryFor time.Duration, settlements []Settlement) ([]SettleResult, error) {
	bodies := make([]wireSettlement, len(settlements))
	for i, one := range settlements {
		bodies[i] = wireSettlement{Receipt: one.Receipt, Outcome: one.Outcome, Delay: (*millis)(one.Delay), Reason: one.Reason}
	}
	var answer struct {
		Results []SettleResult `json:"results"`
	}
	given := call{
		method:   http.MethodPost,
		path:     []string{"v1", "settle"},
		body:     map[string]any{"settlements": bodies},
		keyed:    true,
		retryFor: retryFor,
	}
	if err := c.do(ctx, given, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(settlements) {
		return nil, wrongNumber(len(answer.Results), len(settlements))
	}
	return answer.Results, nil
}

// ExtendStatus is what became of a lease that was to be extended.
type ExtendStatus string

const (
	// Extended: the lease ends so much later.
	Extended ExtendStatus = "extended"
	// LeaseLost: it had ended, or the message was settled.
	LeaseLost ExtendStatus = "lost"
	// LeaseCancelled: the message was cancelled; it does not come again.
	LeaseCancelled ExtendStatus = "cancelled"
)

// Extension makes the lease of a message end so long after now, at least 1 s.
type Extension struct {
	Receipt string
	Lease   time.Duration
}

// ExtendResult is what became of one extension.
type ExtendResult struct {
	Receipt string       `json:"receipt"`
	Status  ExtendStatus `json:"status"`
}

// Extend extends the leases of 1 to 1,000 messages with one request, in any process. The results are in the order of the extensions.
func (c *Client) Extend(ctx context.Context, extensions ...Extension) ([]ExtendResult, error) {
	type wireExtension struct {
		Receipt string `json:"receipt"`
		Lease   millis `json:"lease"`
	}
	bodies := make([]wireExtension, len(extensions))
	for i, one := range extensions {
		bodies[i] = wireExtension{Receipt: one.Receipt, Lease: millis(one.Lease)}
	}
	var answer struct {
		Results []ExtendResult `json:"results"`
	}
	// Extending twice does no harm, so it needs no idempotency key.
	given := call{method: http.MethodPost, path: []string{"v1", "extend"}, body: map[string]any{"extensions": bodies}}
	if err := c.do(ctx, given, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(extensions) {
		return nil, wrongNumber(len(answer.Results), len(extensions))
	}
	return answer.Results, nil
}

func wrongNumber(results, receipts int) error {
	return &Error{
		Code:   CodeUnreadable,
		Status: http.StatusOK,
		Detail: fmt.Sprintf("the gateway answered with %d results for %d receipts", results, receipts),
	}
}
