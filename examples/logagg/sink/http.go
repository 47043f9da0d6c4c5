package sink

import (
	"bytes"
	"context"
	"crypto/rand"
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
	return &server{address, rand.Text(), http.Client{Timeout: requestTime}}, nil
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
		if seconds, wrong := strconv.Atoi(response.Header.Get("Retry-After")); wrong == nil && seconds >= 0 {
			// A server cannot ask for more than we would wait for by ourselves.
			wait := min(time.Duration(seconds)*time.Second, longestWait)
			return 0, fmt.Errorf("%w, %w", err, &backoff.RetryAfterError{Duration: wait})
		}
		return 0, err
	}
	return 0, backoff.Permanent(err)
}

func (s *server) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
