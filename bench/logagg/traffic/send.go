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

// Prepared contains all lines of a load: their generation takes more CPU time than
// counting them, and must not limit a measurement.
type Prepared struct {
	texts [][]byte // by host
	truth *Truth
}

// Prepare generates all lines. They take about 200 bytes of memory each.
func (l Load) Prepare() *Prepared {
	p := &Prepared{make([][]byte, l.Connections), NewTruth()}
	for i := range p.texts {
		n := l.Lines / l.Connections
		if i < l.Lines%l.Connections {
			n++
		}
		host := NewHost(l.Seed, i, n)
		for range n {
			p.texts[i] = host.Append(p.texts[i], p.truth)
		}
	}
	return p
}

// Send sends all lines the given number of times, over a connection for each host, and
// returns the expected counts. It returns the first error and the number of errors, because
// they are usually the same.
func (p *Prepared) Send(ctx context.Context, address string, times int) (*Truth, error) {
	errs := make([]error, len(p.texts))
	var hosts sync.WaitGroup
	for i, text := range p.texts {
		hosts.Go(func() { errs[i] = stream(ctx, address, text, times) })
	}
	hosts.Wait()
	var first error
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed > 1 {
		first = fmt.Errorf("%d of %d connections failed, the first with: %w", failed, len(errs), first)
	}
	truth := NewTruth()
	for range times {
		truth.Merge(p.truth)
	}
	return truth, first
}

// stream writes a text a number of times to its own connection. Closing does not wait: the
// system sends buffered bytes, even after the process has ended. ctx ends the writing.
func stream(ctx context.Context, address string, text []byte, times int) (err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for range times {
		if _, err := conn.Write(text); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("sending to %s: %w", address, err)
		}
	}
	return nil
}
