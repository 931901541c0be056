package delayqueue

import (
	"context"
	"net/http"
)

// Stats counts the messages of a topic by their state.
func (c *Client) Stats(ctx context.Context, topic string) (Stats, error) {
	return send[Stats](ctx, c, call{method: http.MethodGet, path: []string{"v1", "topics", topic, "stats"}})
}

// Topics names the topics that the gateway serves and that this client may look at.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	type topics struct {
		Topics []string `json:"topics"`
	}
	answer, err := send[topics](ctx, c, call{method: http.MethodGet, path: []string{"v1", "topics"}})
	return answer.Topics, err
}
