package delayqueue

import (
	"context"
	"net/http"
	"time"
)

// Counts are what a topic, or one of its partitions, holds.
type Counts struct {
	// Scheduled messages wait; those that are due, or blocked, are among them.
	Scheduled int `json:"scheduled"`
	// Due messages are those whose time has come and that nobody has taken yet.
	Due int `json:"due"`
	// Blocked messages wait behind others of their key, or for its limits.
	Blocked int `json:"blocked"`
	// BlockedDue are those of them whose time has come; 0 from a gateway of version 0.1, as Retrying.
	BlockedDue int `json:"blockedDue"`
	InFlight   int `json:"inFlight"`
	Dead       int `json:"dead"`
	// Finished messages have ended and are kept.
	Finished int `json:"finished"`
	// Retrying messages have failed and are tried again.
	Retrying int `json:"retrying"`
	// NextDueAt is the earliest due time; the zero time if nothing waits that could be delivered then.
	NextDueAt time.Time `json:"nextDueAt"`
	// OldestDueAt is the earliest due time among those that are due; the zero time if none is.
	OldestDueAt time.Time `json:"oldestDueAt"`
	// OldestBlockedDueAt is that among those that are due and blocked; the zero time if none is.
	OldestBlockedDueAt time.Time `json:"oldestBlockedDueAt"`
	Paused             bool      `json:"paused"`
	// HeldUntil is when the topic goes on after it has met a rate limit; the zero time if it has not.
	HeldUntil time.Time `json:"heldUntil"`
	Counters  Counters  `json:"counters"`
}

// Counters are what has happened since the topic was first used.
type Counters struct {
	Published int `json:"published"`
	Delivered int `json:"delivered"`
	Acked     int `json:"acked"`
	Retried   int `json:"retried"`
	Dead      int `json:"dead"`
	Cancelled int `json:"cancelled"`
	Expired   int `json:"expired"`
	Stale     int `json:"stale"`
	Repaired  int `json:"repaired"`
}

// PartitionStats are what a partition holds, and who owns it; Owner is empty if nobody does.
type PartitionStats struct {
	Counts
	Partition int    `json:"partition"`
	Owner     string `json:"owner"`
}

// Stats are what a topic holds, in sum and by partition.
type Stats struct {
	Counts
	Topic      string           `json:"topic"`
	Partitions []PartitionStats `json:"partitions"`
	// Unreachable are the partitions that did not answer, which no count includes.
	Unreachable []int `json:"unreachable"`
}

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
