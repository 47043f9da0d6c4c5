package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
)

// The child writes a ledger to its standard output, unbuffered: a line for each event,
// with a letter and the IDs of records.
//
//	O  the queue is about to be opened; P it is open; F it may receive newer records of this process first
//	T  a send begins; S it returned nil
//	R  a record was received; B its acknowledgement begins; A it returned nil
//	D  a record was dropped
//	E  an error
//
// If the process is killed between T and S, the send may or may not have happened; the
// same holds for the acknowledgement between B and A.
func note(letter string, ids ...uint64) {
	line := []byte(letter)
	for _, id := range ids {
		line = strconv.AppendUint(append(line, ' '), id, 16)
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// recordID returns the ID of a record: the generation of its process, its sender, and a
// count.
func recordID(generation, sender, n uint64) uint64 { return generation<<40 | sender<<32 | n }

// content returns the record with the given ID. Its length and bytes follow from the ID.
func content(id uint64) []byte {
	rng := rand.New(rand.NewPCG(id, 9))
	v := binary.BigEndian.AppendUint64(nil, id)
	for range rng.IntN(1400) {
		v = append(v, byte(rng.Uint32()))
	}
	return v
}

// loadKeeping runs in the child until it is killed. Eight goroutines send, one by one and in
// batches; one receives; four acknowledge nine of ten records. Some queues have a Fresh, which no
// record reaches, or which some do. alive is called after each
// result, and an error ends the load: results after the power is gone do not count.
func loadKeeping(dir string, generation uint64, alive func() error) error {
	fresh := []time.Duration{0, time.Hour, 20 * time.Millisecond, time.Millisecond}[generation%4]
	return runLoad(dir, generation, alive, &DurableOptions[[]byte]{MemoryLimit: 64 << 10, DiskLimit: 4 << 20, Fresh: fresh})
}

// dropLimit is the limit of a queue that drops its oldest records. One process of TestCrash
// has fewer deliveries in flight.
const dropLimit = 400

// loadDropping is loadKeeping for a queue that drops its oldest records.
func loadDropping(dir string, generation uint64, alive func() error) error {
	return runLoad(dir, generation, alive, &DurableOptions[[]byte]{
		MemoryLimit: 64 << 10, Capacity: dropLimit, Overflow: sluice.DropOldest,
		OnUndelivered: func(v []byte, _ sluice.Reason) {
			id := binary.BigEndian.Uint64(v)
			if !bytes.Equal(v, content(id)) {
				note("E")
			}
			note("D", id)
		},
	})
}

func runLoad(dir string, generation uint64, alive func() error, o *DurableOptions[[]byte]) error {
	note("O")
	c, err := OpenDurable(dir, o)
	if err != nil {
		return err
	}
	note("P")
	if 0 < o.Fresh && o.Fresh < time.Hour {
		note("F")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	for s := range uint64(8) {
		go func() { cancel(sendLoad(ctx, c, generation, s, alive)) }()
	}
	acks := make(chan *Delivery[[]byte], 16)
	for range 4 {
		go func() {
			for d := range acks {
				id := binary.BigEndian.Uint64(d.Value)
				note("B", id)
				err := d.Ack()
				if err == nil {
					err = alive()
				}
				if err != nil {
					cancel(err)
					return
				}
				note("A", id)
			}
		}()
	}
	for n := 0; ; n++ {
		d, err := c.Recv(ctx)
		if err != nil {
			return context.Cause(ctx)
		}
		id := binary.BigEndian.Uint64(d.Value)
		if !bytes.Equal(d.Value, content(id)) {
			return fmt.Errorf("record %x has changed", id)
		}
		note("R", id)
		if n%10 != 3 {
			select {
			case acks <- d:
			case <-ctx.Done():
			}
		}
	}
}

func sendLoad(ctx context.Context, c *Durable[[]byte], generation, sender uint64, alive func() error) error {
	for n := uint64(0); ; {
		var ids []uint64
		var values [][]byte
		for range 1 + sender%3*7 {
			id := recordID(generation, sender, n)
			n++
			ids, values = append(ids, id), append(values, content(id))
		}
		note("T", ids...)
		if len(ids) == 1 {
			if err := c.Send(ctx, values[0]); err != nil {
				return err
			}
		} else if _, err := c.SendBatch(ctx, values); err != nil {
			return err
		}
		if err := alive(); err != nil {
			return err
		}
		note("S", ids...)
	}
}

// powered returns an error if the file system of the queue in dir was shut down. A sync that is in progress
// then may succeed without having stored anything, which no program on a machine without power would see.
func powered(dir string) error {
	f, err := os.Open(filepath.Join(dir, "log.lock"))
	if err != nil {
		return err
	}
	return f.Close()
}
