package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

func acknowledged(t *trial) {
	t.publish(1, delayqueue.PublishOptions{})
	const short = 4 * time.Second
	message := t.next(short)
	t.ack(message)
	same("the second ack", must(message.Ack(t.ctx)), delayqueue.StatusStale)
	same("a late retry", must(message.Retry(t.ctx, "late")), delayqueue.StatusStale)
	t.none(short + time.Second)
}

func retried(t *trial) {
	const delay = time.Second
	t.publish(1, delayqueue.PublishOptions{})
	message := t.next(lease)
	same("the first attempt", message.Attempt, 1)
	began := time.Now()
	same("the retry", must(message.RetryAfter(t.ctx, delay, "not yet")), delayqueue.StatusSettled)
	message = t.next(lease)
	expect(time.Since(began) >= delay, "it came again after %v", time.Since(began))
	same("the second attempt", message.Attempt, 2)
	t.ack(message)
}

func givenUp(t *trial) {
	published := t.publish(1, delayqueue.PublishOptions{})
	same("the settle", must(t.next(lease).Dead(t.ctx, "no such order")), delayqueue.StatusSettled)
	details := must(t.client.Get(t.ctx, t.topic, published.ID))
	same("the state", details.State, "dead")
	expect(details.Failure != nil && strings.Contains(details.Failure.Message, "no such order"), "the failure is %+v", details.Failure)
}

func released(t *trial) {
	t.publish(1, delayqueue.PublishOptions{})
	same("the release", must(t.next(lease).Release(t.ctx)), delayqueue.StatusSettled)
	began := time.Now()
	message := t.next(lease)
	expect(time.Since(began) < lease/2, "it came again after %v", time.Since(began))
	same("the attempt", message.Attempt, 1)
	began = time.Now()
	same("the release with a delay", must(message.ReleaseFor(t.ctx, time.Second)), delayqueue.StatusSettled)
	message = t.next(lease)
	expect(time.Since(began) >= time.Second, "it came again after %v", time.Since(began))
	same("the attempt after the delay", message.Attempt, 1)
	t.ack(message)
}

func extended(t *trial) {
	const longer = 9 * time.Second
	t.publish(1, delayqueue.PublishOptions{})
	first := t.next(6 * time.Second)
	began := time.Now()
	same("the extension", must(first.Extend(t.ctx, longer)), delayqueue.StatusExtended)
	again := t.next(lease)
	expect(time.Since(began) >= longer, "it came again after %v", time.Since(began))
	same("the lease that has ended", must(first.Extend(t.ctx, longer)), delayqueue.StatusStale)
	t.ack(again)
}

// receiveAndHang is the argument with which this command is the receiver that is killed.
const receiveAndHang = "receive-and-hang"

const killedLease = 2 * time.Second

// receiverKilled kills a process of its own, since nothing else is like a crash.
func receiverKilled(t *trial) {
	t.publish(1, delayqueue.PublishOptions{})
	receiver := exec.CommandContext(t.ctx, must(os.Executable()), receiveAndHang)
	receiver.Env = append(os.Environ(), "RECEIVE_TOPIC="+t.topic, "RECEIVE_RUN="+t.run)
	receiver.Stderr = os.Stderr
	output := must(receiver.StdoutPipe())
	if err := receiver.Start(); err != nil {
		fail("the receiver has not started: %v", err)
	}
	receipt, err := bufio.NewReader(output).ReadString('\n')
	_ = receiver.Process.Kill()
	_ = receiver.Wait()
	expect(err == nil, "the receiver has not received: %v", err)
	message := t.next(lease)
	expect(message.Receipt != strings.TrimSpace(receipt), "it came again with the same receipt")
	late := delayqueue.Settlement{Receipt: strings.TrimSpace(receipt), Outcome: delayqueue.Ack}
	same("the receipt of who was killed", must(t.client.Settle(t.ctx, late))[0].Status, delayqueue.StatusStale)
	t.ack(message)
}

func beTheReceiverThatIsKilled() {
	given, err := readEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	t := newTrial(context.Background(), given, "")
	t.topic, t.run = os.Getenv("RECEIVE_TOPIC"), os.Getenv("RECEIVE_RUN")
	fmt.Println(t.next(killedLease).Receipt)
	time.Sleep(longest)
	os.Exit(1)
}

// lossy is a client whose first try of each call loses its response, and what counts its tries: a call that had no idempotency key would
// lose nothing.
func (t *trial) lossy() (*delayqueue.Client, *countedTries) {
	// On a connection that it has used before, Go would repeat a request with an idempotency key unseen.
	counted := &countedTries{transport: http.Transport{DisableKeepAlives: true}}
	options := delayqueue.Options{Token: t.given.token, HTTPClient: &http.Client{Transport: counted}}
	return must(delayqueue.New(t.given.lossyURL, options)), counted
}

type countedTries struct {
	transport http.Transport
	tries     int32
}

func (c *countedTries) RoundTrip(request *http.Request) (*http.Response, error) {
	atomic.AddInt32(&c.tries, 1)
	return c.transport.RoundTrip(request)
}

func (c *countedTries) expectAtLeast(calls int) {
	tries := int(atomic.LoadInt32(&c.tries))
	expect(tries >= 2*calls, "%d calls took %d tries, so no response was lost", calls, tries)
}

func publishResponseLost(t *trial) {
	lossy, counted := t.lossy()
	headers := map[string]string{"run": t.run}
	published := must(lossy.Publish(t.ctx, t.topic, 1, &delayqueue.PublishOptions{Headers: headers}))
	expect(!published.Duplicate, "it is a duplicate of itself")
	named := must(lossy.Publish(t.ctx, t.topic, 2, &delayqueue.PublishOptions{ID: t.id("named"), Headers: headers}))
	many := must(lossy.PublishMany(t.ctx, t.topic, []delayqueue.Outgoing{{Payload: 3, Options: &delayqueue.PublishOptions{Headers: headers}}}))
	counted.expectAtLeast(3)
	received := map[string]int{}
	for end := time.Now().Add(20 * time.Second); len(received) < 3 && time.Now().Before(end); {
		t.countOwn(received, headers["run"], 5*time.Second)
	}
	t.countOwn(received, headers["run"], time.Second)
	for _, id := range []string{published.ID, named.ID, many[0].ID} {
		same("how often message "+id+" came", received[id], 1)
	}
	same("the number of messages", len(received), 3)
}

// countOwn counts by id, and goes by a header: some ids were made by the gateway.
func (t *trial) countOwn(received map[string]int, run string, wait time.Duration) {
	for _, message := range must(t.client.Receive(t.ctx, delayqueue.ReceiveOptions{Max: 10, Wait: wait}, t.topic)) {
		if message.Headers["run"] == run {
			received[message.ID]++
		}
		must(message.Ack(t.ctx))
	}
}

func settleResponseLost(t *trial) {
	lossy, counted := t.lossy()
	for _, outcome := range []delayqueue.Outcome{delayqueue.Ack, delayqueue.Dead} {
		t.publish(1, delayqueue.PublishOptions{})
		message := t.next(lease)
		settlement := delayqueue.Settlement{Receipt: message.Receipt, Outcome: outcome}
		same(string(outcome), must(lossy.Settle(t.ctx, settlement))[0].Status, delayqueue.StatusSettled)
		same("another call", must(lossy.Settle(t.ctx, settlement))[0].Status, delayqueue.StatusStale)
	}
	counted.expectAtLeast(4)
}

func atMostOnce(t *trial) {
	published := t.publish(1, delayqueue.PublishOptions{})
	var message *delayqueue.Message
	eventually("it is received", func() bool {
		own := t.receive(delayqueue.ReceiveOptions{Wait: 5 * time.Second, AtMostOnce: true})
		if len(own) > 0 {
			message = own[0]
		}
		return message != nil
	})
	same("the id", message.ID, published.ID)
	same("its lease", message.Lease, 0)
	t.gone(published.ID)
	same("a retry", must(message.Retry(t.ctx, "too late")), delayqueue.StatusStale)
	t.none(1500 * time.Millisecond)
}

func manySettled(t *trial) {
	ids := map[delayqueue.Outcome]string{}
	for _, outcome := range []delayqueue.Outcome{delayqueue.Ack, delayqueue.Retry, delayqueue.Dead, delayqueue.Release} {
		ids[outcome] = t.publish(1, delayqueue.PublishOptions{ID: t.id(string(outcome))}).ID
	}
	receipts := map[string]string{}
	for len(receipts) < len(ids) {
		message := t.next(lease)
		receipts[message.ID] = message.Receipt
	}
	hour := time.Hour
	settlements := []delayqueue.Settlement{
		{Receipt: receipts[ids[delayqueue.Ack]], Outcome: delayqueue.Ack},
		{Receipt: receipts[ids[delayqueue.Retry]], Outcome: delayqueue.Retry, Delay: &hour, Reason: "later"},
		{Receipt: receipts[ids[delayqueue.Dead]], Outcome: delayqueue.Dead, Reason: "never"},
		{Receipt: receipts[ids[delayqueue.Release]], Outcome: delayqueue.Release},
	}
	expectStatuses(must(t.client.Settle(t.ctx, settlements...)), settlements, delayqueue.StatusSettled)
	expectStatuses(must(t.client.Settle(t.ctx, settlements...)), settlements, delayqueue.StatusStale)
	t.gone(ids[delayqueue.Ack])
	same("the retry", must(t.client.Get(t.ctx, t.topic, ids[delayqueue.Retry])).State, "scheduled")
	same("the dead one", must(t.client.Get(t.ctx, t.topic, ids[delayqueue.Dead])).State, "dead")
	again := t.next(lease)
	same("what comes again", again.ID, ids[delayqueue.Release])
	t.ack(again)
	must(t.client.Cancel(t.ctx, t.topic, ids[delayqueue.Retry]))
}

func expectStatuses(results []delayqueue.Result, settlements []delayqueue.Settlement, expected delayqueue.Status) {
	for i, result := range results {
		same("the receipt of result "+fmt.Sprint(i), result.Receipt, settlements[i].Receipt)
		same(string(settlements[i].Outcome), result.Status, expected)
	}
}
