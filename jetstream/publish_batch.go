package jetstream

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// SendBatch uses the servers' atomic batches (since 2.12): a server keeps the messages of
// a batch apart until the last one arrives, then stores all of them consecutively, or
// none. So a batch keeps its order whatever fails, the identity of its first message
// identifies all of it, and a server that syncs each write syncs once per batch.
//
// docs/adr/0014-jetstream.md: why messages are not pipelined instead, and batches not shorter.

const (
	maxBatch      = 1000    // messages in one batch; a limit of the servers
	maxBatchBytes = 4 << 20 // bytes of their payloads
	// maxBatches is the most batches of one publisher under way at once. The servers
	// allow 50 per stream, from all publishers.
	maxBatches = 8

	headerBatch    = "Nats-Batch-Id"
	headerSequence = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// sendBatch sends payloads in order, and returns how many are known to be stored: a
// prefix.
func (p *publisher) sendBatch(ctx context.Context, payloads [][]byte) (n int, err error) {
	most := maxBatch
	if !p.stream.batches {
		most = 1
	}
	for n < len(payloads) {
		size := batchSize(payloads[n:], most)
		full := false
		if size == 1 {
			err = p.sendOne(ctx, payloads[n], waitRoom)
		} else if full, err = p.sendAtomic(ctx, payloads[n:n+size]); full {
			// There is no room for the whole batch. Smaller ones use what room there
			// is, and a single value waits for it.
			most = size / 2
			continue
		}
		if err != nil {
			return n, err
		}
		if n += size; p.stream.batches {
			most = min(2*most, maxBatch)
		}
	}
	return n, nil
}

// batchSize returns how many of the payloads fit into one batch, at least one.
func batchSize(payloads [][]byte, most int) int {
	bytes := 0
	for i, payload := range payloads[:min(len(payloads), most)] {
		if bytes += len(payload); bytes > maxBatchBytes && i > 0 {
			return i
		}
	}
	return min(len(payloads), most)
}

// sendAtomic sends one batch. If there is no room for all of it, it reports full
// without waiting.
func (p *publisher) sendAtomic(ctx context.Context, payloads [][]byte) (full bool, err error) {
	bytes := 0
	for _, payload := range payloads {
		if err := p.checkSize(payload); err != nil {
			return false, err
		}
		bytes += len(payload)
	}
	if err := p.acquireSlot(ctx); err != nil {
		return false, err
	}
	defer func() { <-p.slots }()
	id := p.identity()
	batch := &publication{values: len(payloads), bytes: bytes, store: func(ctx context.Context) error { return p.storeBatch(ctx, id, payloads) }}
	err = p.send(ctx, batch, waitServers)
	if err == sluice.ErrFull {
		return true, nil
	}
	return false, err
}

// acquireSlot waits until fewer than maxBatches batches are under way.
func (p *publisher) acquireSlot(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-p.life.ctx.Done():
		return ErrShutdown
	case <-ctx.Done():
		return engine.ContextError(ctx)
	}
}

// storeBatch makes one attempt. Each attempt has a batch id of its own, so that the
// messages of one that broke off do not mix with the next.
func (p *publisher) storeBatch(ctx context.Context, id string, payloads [][]byte) error {
	ctx, cancel := p.conn.attempt(ctx, attemptTimeout)
	defer cancel()
	batchID := p.identity()
	last := len(payloads) - 1
	for i, payload := range payloads[:last] {
		if err := p.conn.nc.PublishMsg(p.batchMessage(batchID, id, i, payload)); err != nil {
			return err // without the commit, none of it is stored
		}
	}
	m := p.batchMessage(batchID, id, last, payloads[last])
	m.Header[headerCommit] = []string{"1"}
	answer, err := p.conn.nc.RequestMsgWithContext(ctx, m)
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
	case ack.Count != len(payloads):
		return natsjs.ErrInvalidJSAck
	}
	return nil
}

// batchMessage returns the i-th message of a batch.
func (p *publisher) batchMessage(batchID, id string, i int, payload []byte) *nats.Msg {
	header := nats.Header{headerBatch: {batchID}, headerSequence: {strconv.Itoa(i + 1)}}
	if i == 0 {
		header[natsjs.MsgIDHeader] = []string{id}
	}
	return &nats.Msg{Subject: p.subject, Data: payload, Header: header}
}
