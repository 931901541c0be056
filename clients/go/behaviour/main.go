// Command behaviour tests this client against a gateway, by the list in clients/BEHAVIOUR.md; that file says what it is given by the
// environment. It prints a line for each behaviour, and ends with exit code 1 if one of them is not as it should be.
//
//	go run ./behaviour          # all of them
//	go run ./behaviour B15 B16  # some
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"
)

// A behaviour that takes longer is stuck: the slowest ones take ten seconds on an idle machine.
const longest = 2 * time.Minute

type behaviour func(t *trial)

var behaviours = map[string]behaviour{
	"B01": publishedAndReceived,
	"B02": notBeforeItIsDue,
	"B03": manyInOneRequest,
	"B04": duplicateIDs,
	"B05": lookedUp,
	"B06": cancelled,
	"B07": cancelledByTag,
	"B08": rescheduled,
	"B09": acknowledged,
	"B10": retried,
	"B11": givenUp,
	"B12": released,
	"B13": extended,
	"B14": receiverKilled,
	"B15": publishResponseLost,
	"B16": settleResponseLost,
	"B17": atMostOnce,
	"B18": topicsInOrder,
	"B19": largePayloads,
	"B20": waiting,
	"B21": errorCodes,
	"B22": manySettled,
	"B23": statsAndExplain,
	"B24": anyCharacters,
	"B25": workerConcurrency,
	"B26": workerRenewsLeases,
	"B27": workerStops,
	"B28": workerGoesOn,
	"B29": schedules,
	"B30": guards,
	"B31": proxies,
	"B32": retryAfter,
	"B33": someOfMany,
	"B34": untrusted,
	"B35": handlerTimeout,
	"B37": unreadable,
	"B38": stoppedByHandler,
	"B39": numbers,
	"B40": tokens,
	"B41": handlerErrors,
	"B42": consumers,
	"B43": settledTogether,
	"B44": failedSchedules,
	"B45": toldBesides,
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == receiveAndHang {
		beTheReceiverThatIsKilled()
	}
	numbers := os.Args[1:]
	if len(numbers) == 0 {
		for number := range behaviours {
			numbers = append(numbers, number)
		}
		sort.Strings(numbers)
	}
	given, err := readEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed := runAll(given, numbers); failed > 0 {
		os.Exit(1)
	}
}

// runAll runs them side by side, and prints what became of each in their order.
func runAll(given environment, numbers []string) (failed int) {
	failures := make([]string, len(numbers))
	var all sync.WaitGroup
	for i, number := range numbers {
		i, number := i, number
		all.Add(1)
		go func() {
			defer all.Done()
			failures[i] = runOne(given, number)
		}()
	}
	all.Wait()
	for i, number := range numbers {
		if failures[i] == "" {
			fmt.Printf("ok %s\n", number)
			continue
		}
		fmt.Printf("not ok %s - %s\n", number, failures[i])
		failed++
	}
	return failed
}

func runOne(given environment, number string) (why string) {
	run, ok := behaviours[number]
	if !ok {
		return "there is no behaviour of this number"
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	defer func() {
		switch value := recover().(type) {
		case nil:
		case failure:
			why = string(value)
		default:
			why = fmt.Sprintf("panic: %v", value)
		}
	}()
	run(newTrial(ctx, given, number))
	return ""
}

func randomName() string {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err)
	}
	return hex.EncodeToString(random[:])
}
