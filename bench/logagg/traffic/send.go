package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// A Load is what is to be sent.
type Load struct {
	Seed        uint64
	Lines       int // in all
	Connections int // each is a host
}

// chunkBytes is about how much is written at once.
const chunkBytes = 64 << 10

// share returns how many lines host i sends.
func (l Load) share(i int) int {
	n := l.Lines / l.Connections
	if i < l.Lines%l.Connections {
		n++
	}
	return n
}

// Send makes the lines as they are sent, over TCP, and returns what they must lead to.
func (l Load) Send(ctx context.Context, address string) (*Truth, error) {
	return l.each(func(i int, truth *Truth) error {
		host, left := NewHost(l.Seed, i, l.share(i)), l.share(i)
		return stream(ctx, address, func(chunk []byte) []byte {
			for ; left > 0 && len(chunk) < chunkBytes; left-- {
				chunk = host.Append(chunk, truth)
			}
			return chunk
		})
	})
}

// Prepared are lines that were made before they are sent: for measurements, in which
// their making must not count, and for a load that is more than one machine can make.
type Prepared struct {
	load  Load
	texts [][]byte // by host
	truth *Truth
}

// Prepare makes all lines. They are held in memory, some 200 bytes each.
func (l Load) Prepare() *Prepared {
	p := &Prepared{load: l, texts: make([][]byte, l.Connections)}
	p.truth, _ = l.each(func(i int, truth *Truth) error { // which does not fail
		host := NewHost(l.Seed, i, l.share(i))
		for range l.share(i) {
			p.texts[i] = host.Append(p.texts[i], truth)
		}
		return nil
	})
	return p
}

// Send sends the lines, that many times over, and returns what they must lead to.
func (p *Prepared) Send(ctx context.Context, address string, times int) (*Truth, error) {
	_, err := p.load.each(func(i int, _ *Truth) error {
		rest, more := p.texts[i], times-1
		return stream(ctx, address, func([]byte) []byte {
			if len(rest) == 0 && more > 0 {
				rest = p.texts[i]
				more--
			}
			chunk := rest[:min(len(rest), chunkBytes)]
			rest = rest[len(chunk):]
			return chunk
		})
	})
	truth := NewTruth()
	for range times {
		truth.Merge(p.truth)
	}
	return truth, err
}

// each runs one function for each host, all at once, and adds up their truths. Of the
// errors it returns the first one and how many there are: they are the same, mostly.
func (l Load) each(run func(i int, truth *Truth) error) (*Truth, error) {
	truths, errs := make([]*Truth, l.Connections), make([]error, l.Connections)
	var hosts sync.WaitGroup
	for i := range l.Connections {
		truths[i] = NewTruth()
		hosts.Go(func() { errs[i] = run(i, truths[i]) })
	}
	hosts.Wait()
	all := NewTruth()
	var first error
	failed := 0
	for i, err := range errs {
		all.Merge(truths[i])
		if err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed > 1 {
		first = fmt.Errorf("%d of %d connections failed, one of them so: %w", failed, l.Connections, first)
	}
	return all, first
}

// stream writes what next returns, until that is nothing, to a connection of its own.
// next is given the memory of the chunk before. Closing does not wait: the system sends what
// it has taken, also after the process has ended. ctx ends the writing.
func stream(ctx context.Context, address string, next func(chunk []byte) []byte) (err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for chunk := next(nil); len(chunk) > 0; chunk = next(chunk[:0]) {
		if _, err := conn.Write(chunk); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("sending to %s: %w", address, err)
		}
	}
	return nil
}
