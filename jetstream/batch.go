package jetstream

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// Runs are stored by the servers' atomic batches (since 2.12): the messages of one
// are kept apart until the last one comes, then stored one after the other, with
// nothing between them, or not at all. So a run keeps its order whatever breaks, a
// repetition of it is known by the identity of its first value, and a server that
// syncs each write syncs once for all of it.
//
// Tried and lost: messages published without waiting for the answer to each. Where
// one is not stored and those after it are, to repeat it changes the order.
//
// Not taken: shorter runs, of 128, where several servers store them. They bring the median
// delay of a sender at full speed from 1.5 of the client's to 0.8, for a tenth of the speed,
// and for a sync each where every write is synced: so it is the caller's choice, by the
// length of what SendBatch is given. maxInFlight does not bear on it, as a sender has one run
// under way; the delay is that of the queue at the receiver.

const (
	maxRun      = 1000    // values in a run: what servers take
	maxRunBytes = 4 << 20 // bytes of their forms
	// maxInFlight is how many runs of one channel are under way at once; servers
	// take 50 of a stream, from all senders.
	maxInFlight = 8

	headerBatch    = "Nats-Batch-Id"
	headerSequence = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// sendRun sends forms in order, and returns how many are known to be stored: a
// prefix.
func (c *core) sendRun(ctx context.Context, forms [][]byte) (n int, err error) {
	most := maxRun
	if !c.batches {
		most = 1
	}
	for n < len(forms) {
		size := runOf(forms[n:], most)
		full := false
		if size == 1 {
			err = c.sendOne(ctx, forms[n], forRoom)
		} else if full, err = c.sendWhole(ctx, forms[n:n+size]); full {
			// There is no room for all of it. Smaller runs find what room there
			// is, and a single value waits for it.
			most = size / 2
			continue
		}
		if err != nil {
			return n, err
		}
		if n += size; c.batches {
			most = min(2*most, maxRun)
		}
	}
	return n, nil
}

// runOf returns how many of the forms go into one run.
func runOf(forms [][]byte, most int) int {
	bytes := 0
	for i, form := range forms[:min(len(forms), most)] {
		if bytes += len(form); bytes > maxRunBytes && i > 0 {
			return i
		}
	}
	return min(len(forms), most)
}

// sendWhole sends one run. It reports full, without waiting, if there is not room
// for all of it.
func (c *core) sendWhole(ctx context.Context, forms [][]byte) (full bool, err error) {
	for _, form := range forms {
		if err := c.fits(form); err != nil {
			return false, err
		}
	}
	if err := c.takePlace(ctx); err != nil {
		return false, err
	}
	defer func() { <-c.inFlight }()
	id := c.identity()
	run := &shipment{values: len(forms), store: func(ctx context.Context) error { return c.storeRun(ctx, id, forms) }}
	err = c.send(ctx, run, forServers)
	if err == sluice.ErrFull {
		return true, nil
	}
	return false, err
}

// takePlace waits until there are less than maxInFlight runs under way.
func (c *core) takePlace(ctx context.Context) error {
	select {
	case c.inFlight <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.inFlight <- struct{}{}:
		return nil
	case <-c.leaving.Done():
		return ErrShutdown
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// storeRun makes one attempt. Each has a name of its own at the servers, so that what
// is left of one that broke off does not mix with the next.
func (c *core) storeRun(ctx context.Context, id string, forms [][]byte) error {
	ctx, cancel := c.link.attempt(ctx, attempt)
	defer cancel()
	name := c.identity()
	last := len(forms) - 1
	for i, form := range forms[:last] {
		if err := c.link.nc.PublishMsg(c.ofRun(name, id, i, form)); err != nil {
			return err // without its end, none of it is stored
		}
	}
	m := c.ofRun(name, id, last, forms[last])
	m.Header[headerCommit] = []string{"1"}
	answer, err := c.link.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return err
	}
	var ack struct {
		Error *natsjs.APIError `json:"error"`
		Count int              `json:"count"`
	}
	switch err := json.Unmarshal(answer.Data, &ack); {
	case err != nil:
		return natsjs.ErrInvalidJSAck
	case ack.Error != nil:
		return ack.Error
	case ack.Count != len(forms):
		return natsjs.ErrInvalidJSAck
	}
	return nil
}

// ofRun returns the message of the i-th form.
func (c *core) ofRun(name, id string, i int, form []byte) *nats.Msg {
	header := nats.Header{headerBatch: {name}, headerSequence: {strconv.Itoa(i + 1)}}
	if i == 0 {
		header[natsjs.MsgIDHeader] = []string{id}
	}
	return &nats.Msg{Subject: c.subject, Data: form, Header: header}
}
