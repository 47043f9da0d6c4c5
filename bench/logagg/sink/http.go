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
)

// requestTime bounds one delivery.
const requestTime = 10 * time.Second

// server takes tables by POST, as application/x-ndjson. Each table has a key of its own
// in the header Idempotency-Key, the same in all its deliveries: a server that takes a
// table and whose answer is lost gets it again, and can tell.
type server struct {
	address string
	run     string // tells the tables of this process from those of any other
	client  http.Client
}

func newServer(address string) (*server, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a server", address)
	}
	return &server{address, rand.Text(), http.Client{Timeout: requestTime, CheckRedirect: redirected}}, nil
}

// maxRedirects bounds how often a server can send one table elsewhere.
const maxRedirects = 10

// redirected follows a redirection only with the table in hand. After 301, 302 and 303 a
// client asks for the other address with a GET: what that answers says nothing of the
// table, which nobody has got.
func redirected(next *http.Request, before []*http.Request) error {
	if next.Method != http.MethodPost || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// deliver succeeds on any status from 200 to 299. 408, 429 and those from 500 are worth
// another try, after the time that the server asks for; any other one says that this
// table will not be taken, ever.
func (s *server) deliver(ctx context.Context, table int64, text []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(text))
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Idempotency-Key", s.run+"-"+strconv.FormatInt(table, 10))
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	// So that the connection can be used again; what it says is of no use here.
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return len(text), nil
	}
	err = fmt.Errorf("%s answers %s", s.address, response.Status)
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		if wait := retryAfter(response.Header); wait > 0 {
			return 0, fmt.Errorf("%w, %w", err, &backoff.RetryAfterError{Duration: wait})
		}
		return 0, err
	}
	return 0, backoff.Permanent(err)
}

// retryAfter is how long a server asks to be left alone, and 0 if it does not say so in
// seconds. It cannot ask for more than we would wait for by ourselves, nor for no wait at
// all: that would be a storm of requests.
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
