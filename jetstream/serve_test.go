//go:build unix

package jetstream

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
)

// roleVariable is the environment variable with the role of a process: the test binary has
// other roles, in processes of their own. Each ends with its standard input, so none
// outlives the test.
const roleVariable = "SLUICE_TEST_ROLE"

// A role is what a process does.
type role struct {
	Kind   string // "server", "sender" or "receiver"
	Server serverRole
	// for senders and receivers; without a URL the server is embedded, in Dir
	URL     string
	InOrder bool // connect to the first server of URL that answers, not to a random one
	Dir     string
	Number  int
	Pace    time.Duration // between two sends
	Busy    bool          // some values are redelivered, and some become dead letters: see treatmentOf
	// Namespace is the network namespace of the process; Program is another binary.
	Namespace, Program string
}

// serve runs the role in the environment, and reports whether there was one.
func serve() bool {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		switch r.Kind {
		case "server":
			err = r.Server.serve()
		case "sender":
			err = r.sender()
		case "receiver":
			err = r.receiver()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, r.Kind, r.Server.Name, err)
		os.Exit(1)
	}
	return true
}

const clusterAckWait = 5 * time.Second

// clusterChannel returns the options that all roles use.
func clusterChannel(urls string) Options[string] {
	return Options[string]{
		Name: "jobs", URL: urls, AckWait: clusterAckWait, NackDelay: -1, Capacity: sluice.Unlimited, Log: mute(),
	}
}

// open opens the channel.
func (r role) open() (*Channel[string], error) {
	o := clusterChannel(r.URL)
	o.Dir = r.Dir
	if r.InOrder {
		o.NATS = append(o.NATS, nats.DontRandomize())
	}
	if r.Busy {
		o.MaxDeliver, o.MaxInProgress = 3, 2*time.Second
	}
	return Open(context.Background(), &o)
}

// sender sends values until its input ends, or the channel is closed. It prints a line
// for each value: "+" and the value if it is stored, "?" if that is unknown, "-" if it is
// not stored; and at the end "~" and the longest time between two sends in milliseconds, and "!" and
// the warning of Stats.
func (r role) sender() error {
	c, err := r.open()
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	out := bufio.NewWriter(os.Stdout)
	report := func(sign string, vs ...string) {
		for _, v := range vs {
			fmt.Fprintln(out, sign+v)
		}
		_ = out.Flush() // the parent reads it; if this fails, the parent is gone
	}
	last, longest := time.Now(), time.Duration(0)
	pace := time.NewTicker(cmp.Or(r.Pace, time.Millisecond)) // below saturation
	for i, more := 0, true; more; i++ {
		batch := make([]string, 1+i%10)
		for j := range batch {
			batch[j] = fmt.Sprintf("%d.%d.%d", r.Number, i, j)
		}
		n, err := c.SendBatch(context.Background(), batch)
		report("+", batch[:n]...)
		switch {
		case errors.Is(err, ErrUnknown):
			report("?", batch[n:]...)
		case err != nil:
			report("-", batch[n:]...)
		}
		longest = max(longest, time.Since(last))
		last = time.Now()
		if err == sluice.ErrClosed {
			<-ended
		}
		select {
		case <-ended:
			more = false
		case <-pace.C:
		}
	}
	report("~", fmt.Sprint(longest.Milliseconds()))
	report("!", c.Stats().Disk.Warning)
	return c.Shutdown(context.Background())
}

// A settlement is how a receiver ended a delivery.
type settlement string

const (
	acked     settlement = "acked"     // Ack returned nil: the servers may not have it
	confirmed settlement = "confirmed" // AckSync returned nil: the servers have it
	nacked    settlement = "nacked"
	forgotten settlement = "forgotten" // neither: it expires
	expired   settlement = "expired"   // ErrExpired
	failed    settlement = "failed"    // another error: the servers may have the acknowledgment
	unsettled settlement = ""          // the process ended first
)

// treatmentOf returns how a receiver settles a delivery of a value if it can: every second
// value by Ack, the others by AckSync. A busy one rejects each attempt of 1% of the values,
// and the first one of 10%, and forgets the first one of 1%.
func treatmentOf(v string, attempt int, busy bool) settlement {
	h := fnv.New32a()
	_, _ = h.Write([]byte(v))
	n := h.Sum32() % 200
	switch {
	case busy && n < 2, busy && n < 22 && attempt == 1:
		return nacked
	case busy && n < 24 && attempt == 1:
		return forgotten
	case n%2 == 0:
		return acked
	}
	return confirmed
}

// settleAs settles d, and returns what came of it.
func settleAs(d *Delivery[string], how settlement) settlement {
	var err error
	switch how {
	case acked:
		err = d.Ack()
	case confirmed:
		err = d.AckSync(context.Background())
	case nacked:
		err = d.Nack()
	}
	switch {
	case errors.Is(err, ErrExpired):
		return expired
	case err != nil:
		return failed
	}
	return how
}

// receiver receives until the channel is closed and drained, or its input ends. It prints
// two lines for each delivery: ">", the value, how often the servers delivered it, and when
// it arrived in ns since 1970; then "<", the value, how it was settled, and when. The last lines
// are "!" and the warning of Stats, and "=" and the error.
func (r role) receiver() error {
	c, err := r.open()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = c.Shutdown(context.Background())
	}()
	out := bufio.NewWriter(os.Stdout)
	for {
		d, err := c.Deliveries().Recv(context.Background())
		if err != nil {
			fmt.Fprintln(out, "!"+c.Stats().Disk.Warning)
			fmt.Fprintln(out, "="+err.Error())
			return out.Flush()
		}
		fmt.Fprintln(out, ">", d.Value, d.message.delivered, d.message.arrived.UnixNano())
		if err := out.Flush(); err != nil {
			return err
		}
		end := settleAs(d, treatmentOf(d.Value, d.Attempt, r.Busy))
		fmt.Fprintln(out, "<", d.Value, end, time.Now().UnixNano())
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
