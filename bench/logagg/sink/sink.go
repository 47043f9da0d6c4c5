// Package sink ships counts: to a stream such as the standard output, or to a
// server by HTTP. It retries a failed delivery with increasing delays until it
// succeeds or the service ends. Meanwhile Ship does not return, which slows down
// all stages before it.
//
// This package contains destinations and the handling of their failures.
package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/internal/redact"
)

// A Sink ships tables of counts, one after the other.
type Sink struct {
	Retries func(err error, wait time.Duration) // called after each failed delivery, if set
	Lost    func(err error, lines int64)        // called for each table that is given up, if set

	to     destination
	text   []byte // the encoded table
	tables int64  // number of tables passed to Ship
}

// A destination receives text, which consists of complete lines; after an error
// it receives the rest again. n is the number of bytes that need not be
// repeated. A permanentError means that no retry can succeed.
type destination interface {
	deliver(ctx context.Context, table int64, text []byte) (n int, err error)
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Open returns the sink at a place: an address that begins with http:// or
// https://, or "" for the stream.
func Open(place string, to io.Writer) (*Sink, error) {
	if place == "" {
		return &Sink{to: &stream{Writer: to}}, nil
	}
	server, err := newServer(place)
	return &Sink{to: server}, err
}

// Nowhere returns a sink that discards the counts.
func Nowhere() *Sink { return &Sink{to: &stream{Writer: io.Discard}} }

// The shortest and the longest delay between two deliveries. A delay deviates by
// up to half, so that many services do not return to one server at the same time.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// Ship delivers t, with as many retries as necessary. It returns nil once t is
// delivered completely; otherwise ctx is done, or the destination rejects t
// permanently. The error includes the error of the last try.
func (s *Sink) Ship(ctx context.Context, t *count.Table) error {
	if t.Lines() == 0 {
		return nil
	}
	s.text = t.AppendJSON(s.text[:0])
	err := s.deliver(ctx, s.text)
	s.tables++
	if err != nil && s.Lost != nil {
		s.Lost(err, t.Lines())
	}
	return err
}

func (s *Sink) deliver(ctx context.Context, rest []byte) error {
	for delay := firstWait; ; delay = min(2*delay, longestWait) {
		n, err := s.to.deliver(ctx, s.tables, rest)
		if err == nil || errors.As(err, new(permanentError)) {
			return err
		}
		rest = rest[n:]
		wait := delay/2 + random.N(delay)
		if s.Retries != nil && ctx.Err() == nil {
			s.Retries(err, wait)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up, out of time (%w): %w", ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// stream is a writer owned by the caller. A short write, for example to a full
// disk, continues where it stopped.
type stream struct {
	io.Writer
	torn  bool  // the last write ended within a row
	table int64 // the table of that row
}

func (s *stream) deliver(_ context.Context, table int64, text []byte) (int, error) {
	if s.torn && table != s.table {
		// The rest of the row was given up with its table. Begin a new line.
		if _, err := s.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		s.torn = false
	}
	n, err := s.Write(text)
	if n > 0 {
		s.torn, s.table = text[n-1] != '\n', table
	}
	return n, err
}

// server receives tables by POST, as application/x-ndjson. The header
// Idempotency-Key is unique per table and the same in all its deliveries: a
// server whose response was lost gets the table again and can detect the
// repetition.
type server struct {
	address string
	shown   string // address, for errors
	run     string // identifies the tables of this process
	client  http.Client
}

// requestTime limits the duration of one delivery.
const requestTime = 10 * time.Second

func newServer(address string) (*server, error) {
	parsed, err := redact.Parse(address)
	if err == nil && (parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "") {
		err = errors.New("no scheme or no host")
	}
	if err != nil {
		return nil, fmt.Errorf("invalid server address: %w (want http://host/path)", err)
	}
	return &server{address, redact.URL(parsed), rand.Text(), http.Client{Timeout: requestTime, CheckRedirect: unredirected}}, nil
}

// unredirected follows no redirect: after some of them, a client requests the new
// address with a GET, whose response does not concern the table.
func unredirected(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// deliver succeeds with any status from 200 to 299. After 408, 429, and 500 or
// above it may be retried. Any other status means that the server will never accept this table.
func (s *server) deliver(ctx context.Context, table int64, text []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(text))
	if err != nil {
		return 0, permanentError{err}
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Idempotency-Key", s.run+"-"+strconv.FormatInt(table, 10))
	response, err := s.client.Do(request)
	if err != nil {
		if request := (*url.Error)(nil); errors.As(err, &request) {
			err = request.Err
		}
		return 0, fmt.Errorf("%s: %w", s.shown, err)
	}
	defer response.Body.Close()
	// Read the body so that the connection can be reused; its content does not
	// matter.
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return len(text), nil
	}
	err = fmt.Errorf("%s answers %s", s.shown, response.Status)
	if status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 {
		return 0, err
	}
	return 0, permanentError{err}
}
