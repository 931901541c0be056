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
	Blocked  int `json:"blocked"`
	InFlight int `json:"inFlight"`
	Dead     int `json:"dead"`
	// Finished messages have ended and are kept.
	Finished int `json:"finished"`
	// NextDueAt is the earliest due time; the zero time if nothing waits that could be delivered then.
	NextDueAt time.Time `json:"nextDueAt"`
	// OldestDueAt is the earliest due time among those that are due; the zero time if none is.
	OldestDueAt time.Time `json:"oldestDueAt"`
	Paused      bool      `json:"paused"`
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
}

// Stats counts the messages of a topic by their state.
func (c *Client) Stats(ctx context.Context, topic string) (Stats, error) {
	var stats Stats
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1", "topics", topic, "stats"}}, &stats)
	return stats, err
}

// Topics names the topics that the gateway serves and that this client may look at.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	var answer struct {
		Topics []string `json:"topics"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1", "topics"}}, &answer)
	return answer.Topics, err
}

// Explanation is why a message has not run, or what became of it.
type Explanation struct {
	// Cause is one of unknown-id, finished, dead, running, retrying, not-due, paused, no-consumer, no-owner, owner-silent, blocked-by-key,
	// rate-limited, max-in-flight, behind: the first that holds.
	Cause string `json:"cause"`
	// Also are the others that hold.
	Also  []string `json:"also"`
	Facts Facts    `json:"facts"`
	// Advice says what it means and what to do.
	Advice string `json:"advice"`
}

// Facts are what an explanation goes by. What is not known, or does not apply, is the zero value.
type Facts struct {
	Topic     string `json:"topic"`
	ID        string `json:"id"`
	Key       string `json:"key"`
	Partition int    `json:"partition"`
	// At is when this was looked at, on the clock of Redis.
	At          time.Time `json:"at"`
	State       State     `json:"state"`
	DueAt       time.Time `json:"dueAt"`
	LeaseEndsAt time.Time `json:"leaseEndsAt"`
	DiedAt      time.Time `json:"diedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	Outcome     string    `json:"outcome"`
	PublishedAt time.Time `json:"publishedAt"`
	Deliveries  int       `json:"deliveries"`
	Attempts    int       `json:"attempts"`
	// Crashes are deliveries in a row that ended with their lease.
	Crashes int      `json:"crashes"`
	Failure *Failure `json:"failure"`
	// Mark is "cancelled" or "replaced" if that takes effect when the current delivery ends.
	Mark string `json:"mark"`
	// Runner is the process that handles it, or has.
	Runner string `json:"runner"`
	// Before is how many messages of its partition are handed out before it.
	Before    int       `json:"before"`
	BlockedBy string    `json:"blockedBy"`
	Paused    bool      `json:"paused"`
	HeldUntil time.Time `json:"heldUntil"`
	// Limit is "rate" or "inFlight" if it waits for one of these limits.
	Limit string `json:"limit"`
	// Handlers are the processes that live and handle the topic.
	Handlers         []string `json:"handlers"`
	Owner            string   `json:"owner"`
	OwnerAlive       bool     `json:"ownerAlive"`
	OwnerConcurrency int      `json:"ownerConcurrency"`
	OwnerBusy        int      `json:"ownerBusy"`
}

// Explain says why a message has not run, or what became of it. A message that does not exist is explained too.
func (c *Client) Explain(ctx context.Context, topic, id string, options ...LookupOption) (Explanation, error) {
	var explanation Explanation
	path := append(messageOf(topic, id), "explain")
	err := c.do(ctx, call{method: http.MethodGet, path: path, query: lookup(options)}, &explanation)
	return explanation, err
}
