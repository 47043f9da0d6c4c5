package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// A Load describes the lines to send.
type Load struct {
	Seed        uint64
	Lines       int // in total
	Connections int // each represents a host
}

// chunkBytes is the approximate size of a write.
const chunkBytes = 64 << 10

// share returns how many lines host i sends.
func (l Load) share(i int) int {
	n := l.Lines / l.Connections
	if i < l.Lines%l.Connections {
		n++
	}
	return n
}

// Send generates and sends the lines over TCP, and returns the expected counts.
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

// Prepared contains lines generated in advance: for measurements, which must
// exclude their generation, and for a load beyond what one machine can
// generate.
type Prepared struct {
	load  Load
	texts [][]byte // by host
	truth *Truth
}

// Prepare generates all lines. They take about 200 bytes of memory each.
func (l Load) Prepare() *Prepared {
	p := &Prepared{load: l, texts: make([][]byte, l.Connections)}
	p.truth, _ = l.each(func(i int, truth *Truth) error { // cannot fail
		host := NewHost(l.Seed, i, l.share(i))
		for range l.share(i) {
			p.texts[i] = host.Append(p.texts[i], truth)
		}
		return nil
	})
	return p
}

// Send sends the lines the given number of times, and returns the expected
// counts.
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

// each runs one function per host, all at once, and sums up their expected
// counts. It returns the first error and the number of errors, because they are
// usually the same.
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
		first = fmt.Errorf("%d of %d connections failed, the first with: %w", failed, l.Connections, first)
	}
	return all, first
}

// stream writes the chunks that next returns, until it returns none, to its own
// connection. next gets the memory of the previous chunk. Closing does not
// wait: the system sends buffered bytes, even after the process has ended. ctx
// ends the writing.
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
