// Command watch prints what the topics of the shop hold whenever that changes, and what falls due.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

const interval = 200 * time.Millisecond

func main() {
	log.SetFlags(0)
	client, err := delayqueue.New(os.Getenv("GATEWAY_URL"), delayqueue.Options{Token: os.Getenv("GATEWAY_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	topics, err := client.Topics(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	seen := map[string]delayqueue.Stats{}
	for {
		for _, topic := range topics {
			stats, err := client.Stats(ctx, topic)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				log.Printf("%s cannot be looked at: %v", topic, err)
				continue
			}
			tell(topic, seen[topic], stats)
			seen[topic] = stats
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// tell prints what has become of a topic since it was looked at before.
func tell(topic string, before, now delayqueue.Stats) {
	if fallen := now.Counters.Delivered - before.Counters.Delivered; fallen > 0 {
		fmt.Printf("%s: %d due and handed out\n", topic, fallen)
	}
	line := describe(now)
	if line != describe(before) {
		fmt.Printf("%s: %s\n", topic, line)
	}
}

func describe(stats delayqueue.Stats) string {
	counters := stats.Counters
	text := fmt.Sprintf("scheduled %d, in flight %d, dead %d; so far delivered %d, done %d",
		stats.Scheduled, stats.InFlight, stats.Dead, counters.Delivered, counters.Acked)
	if stats.NextDueAt.IsZero() {
		return text
	}
	return text + "; next due at " + stats.NextDueAt.UTC().Format("15:04:05.000")
}
