package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-go/sluice/internal/redact"
)

// requestTime limits the duration of one delivery.
const requestTime = 10 * time.Second

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

func newServer(address string) (*server, error) {
	parsed, err := redact.Parse(address)
	if err == nil && parsed.Host == "" {
		err = errors.New("no host")
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
		return 0, backoff.Permanent(err)
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
	return 0, backoff.Permanent(err)
}

func (s *server) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
