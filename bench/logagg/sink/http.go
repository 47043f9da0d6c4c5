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
	return &server{address, redact.URL(parsed), rand.Text(), http.Client{Timeout: requestTime, CheckRedirect: redirected}}, nil
}

// maxRedirects limits the number of redirects for one table.
const maxRedirects = 10

// redirected follows only redirects that send the table along. After 301, 302
// and 303, a client requests the new address with a GET, whose response does
// not concern the table: no server has received it.
func redirected(next *http.Request, before []*http.Request) error {
	if next.Method != http.MethodPost || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// deliver succeeds with any status from 200 to 299. After 408, 429, and 500 or
// above it may be retried, after the time that the server asks for. Any other
// status means that the server will never accept this table.
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
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		if wait := retryAfter(response.Header); wait > 0 {
			return 0, fmt.Errorf("%w, %w", err, &backoff.RetryAfterError{Duration: wait})
		}
		return 0, err
	}
	return 0, backoff.Permanent(err)
}

// retryAfter returns the delay that a server asks for in seconds, at most
// longestWait. It returns 0 if there is no valid delay or the server asks for
// none: then the client's own delay applies, which prevents a storm of requests.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(min(seconds, uint64(longestWait/time.Second))) * time.Second
}

func (s *server) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
