package delayqueue

import (
	"context"
	"net/http"
	"time"
)

// Settle settles 1 to 1,000 messages with one request, in any process; each is [StatusSettled], [StatusStale], [StatusCancelled] or
// [StatusReplaced]. The results are in the order of the settlements. If the response is lost, the call is repeated and answered as the first
// time.
func (c *Client) Settle(ctx context.Context, settlements ...Settlement) ([]Result, error) {
	return c.settle(ctx, 0, settlements...)
}

func (c *Client) settle(ctx context.Context, retryFor time.Duration, settlements ...Settlement) ([]Result, error) {
	given := call{path: []string{"v1", "settle"}, keyed: true, retryFor: retryFor}
	return c.results(ctx, given, "settlements", settlements, len(settlements))
}

// Extend extends the leases of 1 to 1,000 messages with one request, in any process; each is [StatusExtended], [StatusCancelled] or
// [StatusStale]. The results are in the order of the extensions.
func (c *Client) Extend(ctx context.Context, extensions ...Extension) ([]Result, error) {
	return c.extend(ctx, 0, extensions...)
}

func (c *Client) extend(ctx context.Context, retryFor time.Duration, extensions ...Extension) ([]Result, error) {
	given := call{path: []string{"v1", "extend"}, retryFor: retryFor}
	return c.results(ctx, given, "extensions", extensions, len(extensions))
}

// results makes a call with a list that is answered by one of the same length.
func (c *Client) results(ctx context.Context, given call, name string, list any, length int) ([]Result, error) {
	type results struct {
		Results []Result `json:"results"`
	}
	given.method, given.body = http.MethodPost, map[string]any{name: wire(list)}
	answer, err := send[results](ctx, c, given)
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != length {
		return nil, miscounted(len(answer.Results), length)
	}
	return answer.Results, nil
}

func only(results []Result, err error) (Status, error) {
	if err != nil {
		return "", err
	}
	return results[0].Status, nil
}
