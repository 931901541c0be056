package delayqueue

import (
	"encoding/json"
	"time"
)

// Backoff is how long a message waits between its attempts; see [FixedBackoff], [ExponentialBackoff] and [StepsBackoff].
type Backoff struct {
	kind   string
	delay  time.Duration
	delays []time.Duration
	// Factor multiplies the wait each time, 1 to 10; only of an exponential backoff. Default: 2.
	Factor float64
	// MaxDelay is the longest wait; only of an exponential backoff. Default: 5 min.
	MaxDelay time.Duration
	// Jitter is the share of the wait, 0 to 1, up to which a random time is added; not of a fixed backoff. Default: 0.
	Jitter float64
}

// FixedBackoff waits the same time before each attempt.
func FixedBackoff(delay time.Duration) *Backoff {
	return &Backoff{kind: "fixed", delay: delay}
}

// ExponentialBackoff waits so long before the second attempt, and longer each time. Set Factor, MaxDelay and Jitter on what it returns.
func ExponentialBackoff(delay time.Duration) *Backoff {
	return &Backoff{kind: "exponential", delay: delay}
}

// StepsBackoff waits the first time before the second attempt, the second one before the third, and so on; the last one repeats.
func StepsBackoff(delays ...time.Duration) *Backoff {
	return &Backoff{kind: "steps", delays: delays}
}

// MarshalJSON writes what the gateway takes.
func (b *Backoff) MarshalJSON() ([]byte, error) {
	wire := struct {
		Type     string   `json:"type"`
		Delay    *millis  `json:"delay,omitempty"`
		Delays   []millis `json:"delays,omitempty"`
		Factor   float64  `json:"factor,omitempty"`
		MaxDelay millis   `json:"maxDelay,omitempty"`
		Jitter   float64  `json:"jitter,omitempty"`
	}{Type: b.kind, Factor: b.Factor, MaxDelay: millis(b.MaxDelay), Jitter: b.Jitter}
	if b.kind != "steps" {
		delay := millis(b.delay)
		wire.Delay = &delay
	}
	for _, delay := range b.delays {
		wire.Delays = append(wire.Delays, millis(delay))
	}
	return json.Marshal(wire)
}
