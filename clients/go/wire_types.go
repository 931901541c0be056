// Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

package delayqueue

import (
	"encoding/json"
	"time"
)

// OnDuplicate: what happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace' gives that one the
// new payload, options and due time, 'earliest' leaves it, but due at the earlier of both times. If it is left out: 'reject'.
type OnDuplicate string

// The values of [OnDuplicate].
const (
	Reject   OnDuplicate = "reject"
	Ignore   OnDuplicate = "ignore"
	Replace  OnDuplicate = "replace"
	Earliest OnDuplicate = "earliest"
)

// Outcome: what is to become of the message. 'ack': it is handled. 'retry': the attempt has failed; it comes again, or is a dead letter after
// its last attempt. 'dead': it becomes a dead letter at once. 'release': it comes again, and spends no attempt.
type Outcome string

// The values of [Outcome].
const (
	Ack     Outcome = "ack"
	Retry   Outcome = "retry"
	Dead    Outcome = "dead"
	Release Outcome = "release"
)

// Status: result of settling a delivery. "stale": the delivery was not the current one, and nothing changed. "cancelled", "replaced": that
// happened to the message meanwhile, so a failure of the delivery has no consequence.
//
// Result of extending a lease. "cancelled": the lease was extended, but the message is cancelled; no retry follows. "stale": the delivery was no
// longer the current one, and nothing changed.
//
// Result of a call to cancel a message. "in-flight": its handler runs and its signal aborts, and no retry follows.
//
// Result of a call to move a message to another time. "dead": it is a dead letter, which somebody has to requeue before it comes again.
type Status string

// The values of [Status].
const (
	StatusCancelled Status = "cancelled"
	StatusReplaced  Status = "replaced"
	StatusSettled   Status = "settled"
	StatusStale     Status = "stale"
	StatusExtended  Status = "extended"
	StatusInFlight  Status = "in-flight"
	StatusNotFound  Status = "not-found"
	StatusDead      Status = "dead"
	StatusMoved     Status = "moved"
)

// The codes of the gateway; its guide says what to do about each.
const (
	ErrBodyTooLarge         Code = "BODY_TOO_LARGE"
	ErrBrokerUnavailable    Code = "BROKER_UNAVAILABLE"
	ErrConfiguration        Code = "CONFIGURATION"
	ErrDuplicateMessage     Code = "DUPLICATE_MESSAGE"
	ErrForbidden            Code = "FORBIDDEN"
	ErrInternal             Code = "INTERNAL"
	ErrInvalidArgument      Code = "INVALID_ARGUMENT"
	ErrInvalidJSON          Code = "INVALID_JSON"
	ErrInvalidPayload       Code = "INVALID_PAYLOAD"
	ErrMessageNotFound      Code = "MESSAGE_NOT_FOUND"
	ErrMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	ErrNotFound             Code = "NOT_FOUND"
	ErrNotReplicated        Code = "NOT_REPLICATED"
	ErrPayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	ErrReceiverUnavailable  Code = "RECEIVER_UNAVAILABLE"
	ErrScheduleNotFound     Code = "SCHEDULE_NOT_FOUND"
	ErrSerialization        Code = "SERIALIZATION"
	ErrTooManyWaiting       Code = "TOO_MANY_WAITING"
	ErrTopicNotServed       Code = "TOPIC_NOT_SERVED"
	ErrUnauthorized         Code = "UNAUTHORIZED"
	ErrUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
)

// PublishOptions: how a message is published. What is left out is as its topic has it.
type PublishOptions struct {
	// Names the message, unique in its topic among those of its key; 1 to 256 characters. If it is left out, one is made.
	ID string `wire:"id"`
	// Places the message in a partition, and in an ordered topic behind others of the key; 1 to 256 characters. If it is left out, it is the id.
	Key string `wire:"key"`
	// Time from now until it is due, up to 10 years. If it is left out, it is due at once.
	Delay time.Duration `wire:"delay"`
	// When it is due, in place of a delay. A time that has passed means at once.
	DeliverAt time.Time `wire:"deliverAt"`
	// In place of DeliverAt: when the clocks of a time zone show it.
	DeliverAtLocal *LocalTime `wire:"deliverAt"`
	// How many deliveries may fail before it is a dead letter, 1 to 1000.
	Attempts int `wire:"attempts"`
	// How long to wait between the attempts.
	Backoff *Backoff `wire:"backoff"`
	// Longest run of one call of a handler in a Nest application.
	Timeout time.Duration `wire:"timeout"`
	// Dead letter if it is not delivered within this time after it was due.
	ExpireAfter time.Duration `wire:"expireAfter"`
	// Stored with the payload.
	Headers map[string]string `wire:"headers"`
	// Words by which messages can be listed and cancelled: at most 8, of 1 to 128 characters.
	Tags []string `wire:"tags"`
	// What happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace' gives that one the new
	// payload, options and due time, 'earliest' leaves it, but due at the earlier of both times. If it is left out: 'reject'.
	OnDuplicate OnDuplicate `wire:"onDuplicate"`
	// If it replaces others: however often it is replaced, it is due at most so long after the first publish.
	MaxWait time.Duration `wire:"maxWait"`
	// How many replicas of Redis have to confirm the publish, and in which time.
	Replicas *Replicas `wire:"replicas"`
}

// Replicas: how many replicas of Redis have to confirm the publish, and in which time.
type Replicas struct {
	// How many.
	Min int `wire:"min"`
	// Longest time to wait for them. Then the publish is refused, though the message is stored.
	Timeout time.Duration `wire:"timeout"`
}

// ScheduleRule: a rule that publishes a message again and again: at an interval, or at the times of a cron expression.
type ScheduleRule struct {
	// Where its messages go. It cannot be changed.
	Topic string `wire:"topic"`
	// Anything that [json.Marshal] can write.
	Payload any
	// Interval between two occurrences, at least 100 ms; or else there is a cron expression.
	Every time.Duration `wire:"every"`
	// A cron expression of five fields, or of six, the first of which are the seconds.
	Cron string `wire:"cron"`
	// The time zone of the expression, such as 'Europe/Berlin'; UTC if it is left out.
	TimeZone string `wire:"timeZone"`
	// No occurrence comes before this time; with an interval, it is the first one.
	StartAt time.Time `wire:"startAt"`
	// No occurrence comes after this time.
	EndAt time.Time `wire:"endAt"`
	// Which occurrences are published after an outage; 'latest' if it is left out. One of "none", "latest" and "all".
	CatchUp string `wire:"catchUp"`
	// Whether an occurrence is published while an earlier one waits, runs or retries ('allow'), or counts as missed ('skip'); 'allow' if it is left
	// out.
	Overlap string `wire:"overlap"`
	// How the messages of the schedule are published.
	Options *ScheduledMessageOptions `wire:"options"`
}

// ScheduledMessageOptions: how the messages of the schedule are published.
type ScheduledMessageOptions struct {
	// The key of all its messages, which cannot be changed later; the id of the schedule if it is left out.
	Key string `wire:"key"`
	// How many deliveries may fail before it is a dead letter, 1 to 1000.
	Attempts int `wire:"attempts"`
	// How long to wait between the attempts.
	Backoff *Backoff `wire:"backoff"`
	// Longest run of one call of a handler in a Nest application.
	Timeout time.Duration `wire:"timeout"`
	// Dead letter if it is not delivered within this time after it was due.
	ExpireAfter time.Duration `wire:"expireAfter"`
	// Stored with the payload.
	Headers map[string]string `wire:"headers"`
	// Words by which messages can be listed and cancelled: at most 8, of 1 to 128 characters.
	Tags []string `wire:"tags"`
}

// Settlement: what is to become of a received message.
type Settlement struct {
	// What a received message has.
	Receipt string `wire:"receipt"`
	// What is to become of the message. 'ack': it is handled. 'retry': the attempt has failed; it comes again, or is a dead letter after its last
	// attempt. 'dead': it becomes a dead letter at once. 'release': it comes again, and spends no attempt.
	Outcome Outcome `wire:"outcome"`
	// Of a retry or a release: time until it comes again. If it is left out, a retry comes by its backoff, and what is released at once.
	Delay *time.Duration `wire:"delay"`
	// Of a retry or a dead letter: why. It is kept with the message.
	Reason string `wire:"reason"`
	// In place of a reason: what was thrown. It is kept as that of a handler in Node.js, with texts of up to 4,096 characters.
	Error *HandlerError `wire:"error"`
}

// HandlerError: what a handler has failed with.
type HandlerError struct {
	// Name of its class.
	Name string `wire:"name"`
	// What it says.
	Message string `wire:"message"`
	// Where it was thrown.
	Stack string `wire:"stack"`
}

// LocalTime: a time as the clocks of a time zone show it.
type LocalTime struct {
	// Without an offset, such as '2026-12-24T18:00'.
	Local string `wire:"local"`
	// A name of the IANA database, such as 'Europe/Berlin'.
	TimeZone string `wire:"timeZone"`
}

// Extension: a lease that is to last for longer.
type Extension struct {
	// What a received message has.
	Receipt string `wire:"receipt"`
	// For how long from now the message is yours, at least 1 s.
	Lease time.Duration `wire:"lease"`
}

// Counts: what a topic, or one of its partitions, holds.
type Counts struct {
	// Waiting messages, including those that are due or blocked.
	Scheduled int `json:"scheduled"`
	// Messages whose time has come and that no process has claimed yet.
	Due int `json:"due"`
	// Messages that wait behind others of their key, or for its limits.
	Blocked int `json:"blocked"`
	// Messages that are being handled.
	InFlight int `json:"inFlight"`
	// Dead letters.
	Dead int `json:"dead"`
	// Messages that have ended and are kept.
	Finished int `json:"finished"`
	// Whether nothing is handed out until someone resumes it; for a topic, whether any of its partitions is paused.
	Paused bool `json:"paused"`
	// Counters of events since the topic was first used.
	Counters Counters `json:"counters"`
	// Blocked messages whose time has come. They are late like those that are due, and start once others of their key end. Zero if the gateway is
	// of version 0.1.
	BlockedDue int `json:"blockedDue"`
	// Messages whose last attempt failed and that are tried again: they wait, or are in flight. Zero if the gateway is of version 0.1.
	Retrying int `json:"retrying"`
	// The earliest due time; zero if nothing waits that could be delivered then.
	NextDueAt time.Time `json:"nextDueAt"`
	// The earliest due time among those that are due; zero if none is. Its age shows how late handling is.
	OldestDueAt time.Time `json:"oldestDueAt"`
	// The earliest due time among those that are due and blocked; zero if none is.
	OldestBlockedDueAt time.Time `json:"oldestBlockedDueAt"`
	// Time until which nothing is handed out, because someone holds the topic or a handler has met a rate limit; zero if neither. For a topic, that
	// of the partition that is held longest.
	HeldUntil time.Time `json:"heldUntil"`
}

// Published: result of publishing a message.
type Published struct {
	// Id that it was published with, or the generated one.
	ID string `json:"id"`
	// Topic that it was published to.
	Topic string `json:"topic"`
	// Index of its partition in the topic.
	Partition int `json:"partition"`
	// Time when the stored message is due, on the Redis server's clock.
	DueAt time.Time `json:"dueAt"`
	// Whether the id existed. Then the message was left as it is ("ignore", "earliest") or replaced ("replace"). false if it took the place of a
	// finished one.
	Duplicate bool `json:"duplicate"`
}

// Details: a message as it is stored.
type Details struct {
	// Id of the message.
	ID string `json:"id"`
	// Topic to which it was published.
	Topic string `json:"topic"`
	// Its partition in the topic.
	Partition int `json:"partition"`
	// Its key; the id, if it was published without one.
	Key string `json:"key"`
	// Headers as they were published.
	Headers map[string]string `json:"headers"`
	// Its state. "finished": it has ended, and the topic's option finished keeps its outcome. One of "dead", "finished", "in-flight" and
	// "scheduled".
	State string `json:"state"`
	// Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.
	At time.Time `json:"at"`
	// Tags by which it can be found. Finished messages can no longer be found by their tags.
	Tags []string `json:"tags"`
	// Deliveries so far.
	Deliveries int `json:"deliveries"`
	// Attempts spent so far.
	Attempts int `json:"attempts"`
	// The latest failed attempts, the last one first; at most 10. An attempt that crashed has no entry.
	History []FailedAttempt `json:"history"`
	// The published payload; zero if it cannot be decoded.
	Payload json.RawMessage `json:"payload"`
	// Wait after a failed attempt, if it was published with the option; times are milliseconds.
	Backoff json.RawMessage `json:"backoff"`
	// Most attempts, if it was published with the option; otherwise its handler or its topic decides.
	MaxAttempts int `json:"maxAttempts"`
	// When it was published, by its publisher's estimate of the Redis server's clock; zero if the stored message cannot be decoded.
	PublishedAt time.Time `json:"publishedAt"`
	// In flight or finished: when it was last due. Its handler did not begin earlier. Zero if that is unknown.
	DueAt time.Time `json:"dueAt"`
	// Finished: its outcome. One of "acked", "cancelled" and "delivered".
	Outcome string `json:"outcome"`
	// Finished: duration of the last handler call; zero if it was never called, or that is unknown.
	Duration time.Duration `json:"duration"`
	// Finished: name of the process that handled it; zero if none did, or that is unknown.
	Process string `json:"process"`
	// The longest run of its handler, if it was published with the option.
	Timeout time.Duration `json:"timeout"`
	// How long after its due time it expires, if it was published with the option.
	ExpireAfter time.Duration `json:"expireAfter"`
	// Why it is dead, or why its latest failed attempt failed.
	Failure *Failure `json:"failure"`
	// In an ordered topic, the id of the message of the same key that has to be done before this one; zero if nothing is in the way, and in lists.
	BlockedBy string `json:"blockedBy"`
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (d *Details) UnmarshalJSON(text []byte) error {
	type plain Details
	return json.Unmarshal(text, &struct {
		*plain
		Duration    *millis `json:"duration"`
		Timeout     *millis `json:"timeout"`
		ExpireAfter *millis `json:"expireAfter"`
	}{(*plain)(d), (*millis)(&d.Duration), (*millis)(&d.Timeout), (*millis)(&d.ExpireAfter)})
}

// Failure: a failure as kept with its message.
type Failure struct {
	// Reason why it is dead, or why the attempt failed. One of "crashed", "expired", "failed", "invalid", "undecodable" and "unrecoverable".
	Reason string `json:"reason"`
	// Name of the error's class.
	Name string `json:"name"`
	// The error's message, at most 4,096 characters.
	Message string `json:"message"`
	// The error's code, if it has one.
	Code string `json:"code"`
	// The error's stack, at most 4,096 characters.
	Stack string `json:"stack"`
	// The error's cause.
	Cause *Failure `json:"cause"`
	// The errors that it consists of, as an AggregateError does; the first 5.
	Errors []Failure `json:"errors"`
	// With "crashed": failure of an earlier attempt, if there was one.
	LastError *Failure `json:"lastError"`
	// Issues that the schema found, if the reason is "invalid"; the first 10.
	Issues []PayloadIssue `json:"issues"`
}

// FailedAttempt: a failed attempt as kept in the history of its message.
type FailedAttempt struct {
	// Time of the failure, by the process's estimate of the Redis server's clock.
	At time.Time `json:"at"`
	// Number of the attempt, 1 for the first. Counting starts anew when a dead letter is requeued.
	Attempt int `json:"attempt"`
	// Name of the error's class.
	Name string `json:"name"`
	// Message of the error with that of its cause, at most 200 characters.
	Message string `json:"message"`
	// Run time of the handler.
	Duration time.Duration `json:"duration"`
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (f *FailedAttempt) UnmarshalJSON(text []byte) error {
	type plain FailedAttempt
	return json.Unmarshal(text, &struct {
		*plain
		Duration *millis `json:"duration"`
	}{(*plain)(f), (*millis)(&f.Duration)})
}

// PayloadIssue: an issue that a schema found in a payload.
type PayloadIssue struct {
	// Message of the schema, at most 500 characters.
	Message string `json:"message"`
	// Path in the payload, such as lines[0].sku, at most 200 characters; zero for the payload as a whole.
	Path string `json:"path"`
}

// CancelledTagged: result of cancelling the messages with a tag.
type CancelledTagged struct {
	// Number of messages that waited and are cancelled.
	Cancelled int `json:"cancelled"`
	// Number of messages being handled: their signals abort, and no retry follows.
	InFlight int `json:"inFlight"`
}

// Message: a message that belongs to its receiver until its lease ends. The first settlement of its receipt counts.
type Message struct {
	// Id of the message, the same in each delivery.
	ID string `json:"id"`
	// Topic that it was published to.
	Topic string `json:"topic"`
	// Index of its partition in the topic.
	Partition int `json:"partition"`
	// Its key; the id, if it was published without one.
	Key string `json:"key"`
	// Payload as it was published; the same as the first argument of the handler.
	Payload json.RawMessage `json:"payload"`
	// Headers as they were published.
	Headers map[string]string `json:"headers"`
	// Number of this attempt, 1 for the first.
	Attempt int `json:"attempt"`
	// Number of the attempt after which the message becomes a dead letter.
	MaxAttempts int `json:"maxAttempts"`
	// Lease that it was received with; 0 if it was received at most once, so it needs no settling.
	Lease time.Duration `json:"lease"`
	// Text with which any process can settle the delivery or extend its lease; fit for URLs and headers.
	Receipt string `json:"receipt"`
	// Time when it was published.
	PublishedAt time.Time `json:"publishedAt"`
	// Time when this delivery was due, on the Redis server's clock; for a retry, the end of its backoff.
	DueAt time.Time `json:"dueAt"`

	client *Client
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (m *Message) UnmarshalJSON(text []byte) error {
	type plain Message
	return json.Unmarshal(text, &struct {
		*plain
		Lease *millis `json:"lease"`
	}{(*plain)(m), (*millis)(&m.Lease)})
}

// Result: result of a settlement, or of an extension.
type Result struct {
	// Names the delivery.
	Receipt string `json:"receipt"`
	// What was done; see [Status].
	Status Status `json:"status"`
}

// Stats: counts of a topic, in total and by partition.
type Stats struct {
	Counts
	// The topic that is counted.
	Topic string `json:"topic"`
	// Partitions that answered, ascending.
	Partitions []PartitionStats `json:"partitions"`
	// Partitions that did not answer in time, because their shard of a Redis Cluster is down. No count includes their messages. Empty if the counts
	// are complete.
	Unreachable []int `json:"unreachable"`
}

// PartitionStats: counts of a partition, and its owner.
type PartitionStats struct {
	Counts
	// Its number, from 0.
	Partition int `json:"partition"`
	// Name of the process that owns it; zero if none does, or its session has ended.
	Owner string `json:"owner"`
}

// Counters: counters of events since the topic was first used. They only grow, and are kept in Redis.
type Counters struct {
	// Messages that were published; one that was replaced counts again.
	Published int `json:"published"`
	// Deliveries; each attempt counts.
	Delivered int `json:"delivered"`
	// Messages that were handled.
	Acked int `json:"acked"`
	// Attempts that failed and are repeated.
	Retried int `json:"retried"`
	// Messages that became dead letters.
	Dead int `json:"dead"`
	// Messages that were cancelled or drained.
	Cancelled int `json:"cancelled"`
	// Messages that became dead letters because they were not delivered within ExpireAfter.
	Expired int `json:"expired"`
	// Outcomes that came after the lease had ended, and changed nothing.
	Stale int `json:"stale"`
	// Entries without a message, and messages in no state, that were found and removed: something else has written here.
	Repaired int `json:"repaired"`
}

// Explanation: explanation of why a message has not run, or of its outcome.
type Explanation struct {
	// The first cause that holds, in a fixed order. One of "behind", "blocked-by-key", "dead", "finished", "max-in-flight", "no-consumer",
	// "no-owner", "not-due", "owner-silent", "paused", "rate-limited", "retrying", "running", "starved" and "unknown-id".
	Cause string `json:"cause"`
	// The other causes that hold, in the same order: what would keep the message waiting without the first one.
	Also []string `json:"also"`
	// Facts on which the explanation is based.
	Facts Facts `json:"facts"`
	// Meaning of the cause, and what to do, in English.
	Advice string `json:"advice"`
}

// Facts: facts that an explanation is based on. What is unknown, or does not apply, is zero.
type Facts struct {
	// Topic in which the message was looked for.
	Topic string `json:"topic"`
	// Id of the message.
	ID string `json:"id"`
	// Live processes that handle the topic, or take part in it because someone receives there.
	Handlers []string `json:"handlers"`
	// Consumers that receive the topic, or did so in the last 15 minutes, as fleet() lists them.
	Receivers []Receiver `json:"receivers"`
	// Its key; the id, if it was published without one.
	Key string `json:"key"`
	// Its partition in the topic.
	Partition int `json:"partition"`
	// When the facts were read, on the Redis server's clock.
	At time.Time `json:"at"`
	// "scheduled", "in-flight", "dead" or "finished".
	State string `json:"state"`
	// When it is due, if it is scheduled; when it was due, if it is in flight: its handler did not begin earlier.
	DueAt time.Time `json:"dueAt"`
	// When it expires, if it was published with ExpireAfter and was not delivered yet.
	ExpiresAt time.Time `json:"expiresAt"`
	// When its lease ends, if it is in flight.
	LeaseEndsAt time.Time `json:"leaseEndsAt"`
	// When it died, if it is a dead letter.
	DiedAt time.Time `json:"diedAt"`
	// When it ended, if it is finished and kept.
	FinishedAt time.Time `json:"finishedAt"`
	// Its outcome, if it is finished and kept. One of "acked", "cancelled" and "delivered".
	Outcome string `json:"outcome"`
	// When it was published.
	PublishedAt time.Time `json:"publishedAt"`
	// Deliveries so far.
	Deliveries int `json:"deliveries"`
	// Attempts spent so far.
	Attempts int `json:"attempts"`
	// Deliveries in a row that ended with their lease, the current one not included.
	Crashes int `json:"crashes"`
	// Why it is dead, or why its last attempt failed.
	Failure *Failure `json:"failure"`
	// "cancelled" or "replaced", if that happened while it was in flight; it takes effect when its delivery ends.
	Mark string `json:"mark"`
	// Process that handles it or handled it, if that is known.
	Runner string `json:"runner"`
	// Number of messages of its partition that are handed out before it, or would be if it was due.
	Before int `json:"before"`
	// In an ordered topic, the id of the message of its key that comes first.
	BlockedBy string `json:"blockedBy"`
	// Whether its partition is paused.
	Paused bool `json:"paused"`
	// Time until which nothing of the topic begins, because someone holds it or a handler has met a rate limit.
	HeldUntil time.Time `json:"heldUntil"`
	// Limit of its key or of the topic that it waits for: how many begin ("rate"), or how many are in flight ("inFlight").
	Limit string `json:"limit"`
	// Process that is stored as the owner of its partition.
	Owner string `json:"owner"`
	// Whether that process is alive, by its heartbeats.
	OwnerAlive bool `json:"ownerAlive"`
	// Most handler calls of the owner at once.
	OwnerConcurrency int `json:"ownerConcurrency"`
	// Number of handler calls of the owner that ran at its latest heartbeat.
	OwnerBusy int `json:"ownerBusy"`
}

// Receiver: a consumer that receives messages of a topic, in an application or over the gateway, as its processes last reported.
type Receiver struct {
	// The topic that it receives.
	Topic string `json:"topic"`
	// Its name, the option consumer of receive().
	Consumer string `json:"consumer"`
	// "busy": it has messages. "idle": it waits for some, or did so in the last 30 s. "gone": neither; listed for 15 minutes.
	State string `json:"state"`
	// Its calls that wait for messages.
	Waiting int `json:"waiting"`
	// Messages that it holds: received, not known to be settled, and with leases that have not ended.
	Holding int `json:"holding"`
	// When it asked for messages last; now, if it waits for some.
	SeenAt time.Time `json:"seenAt"`
	// The processes from which it receives, sorted.
	Processes []string `json:"processes"`
}

// Schedule: a stored schedule.
type Schedule struct {
	// Id of the schedule.
	ID string `json:"id"`
	// Topic of its messages.
	Topic string `json:"topic"`
	// Partition of its messages in the topic.
	Partition int `json:"partition"`
	// Key of its messages; the id if it was stored without one.
	Key string `json:"key"`
	// Headers of its messages.
	Headers map[string]string `json:"headers"`
	// Occurrences that are published after an outage. One of "all", "latest" and "none".
	CatchUp string `json:"catchUp"`
	// Whether an occurrence is published while an earlier one waits, runs or retries. One of "allow" and "skip".
	Overlap string `json:"overlap"`
	// Whether it publishes nothing until it is resumed.
	Paused bool `json:"paused"`
	// Whether a handler of a Nest application declares it. Once no handler does, it can be pruned.
	Declared bool `json:"declared"`
	// Number of occurrences that were not published, because of an outage or because an earlier one was not over. For a cron expression, one outage
	// counts as at most 1,000.
	Missed int `json:"missed"`
	// Payload of its messages, read with the topic's serializer, if any. Zero if it can't be read.
	Payload json.RawMessage `json:"payload"`
	// Interval, if it has no cron expression.
	Every time.Duration `json:"every"`
	// Cron expression, if it has no interval.
	Cron string `json:"cron"`
	// Time zone of the expression.
	TimeZone string `json:"timeZone"`
	// No occurrence comes before this time.
	StartAt time.Time `json:"startAt"`
	// No occurrence comes after this time.
	EndAt time.Time `json:"endAt"`
	// Time of its next occurrence; zero if it is paused or has ended.
	Next time.Time `json:"next"`
	// Latest occurrence that was published; zero before the first.
	Last time.Time `json:"last"`
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	type plain Schedule
	return json.Unmarshal(text, &struct {
		*plain
		Every *millis `json:"every"`
	}{(*plain)(s), (*millis)(&s.Every)})
}
