package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
)

// A metered connection reads no more than what may still be read from the service: bodies,
// headers and what else its connections carry.
type metered struct {
	net.Conn
	left *atomic.Int64
}

func (c *metered) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		return 0, errSpent
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), left)])
	c.left.Add(-int64(n))
	return n, err
}

var (
	errSpent = fmt.Errorf("left out: all parts together are larger than %s", address.Megabytes(maxBytes))
	errLate  = errors.New("left out: the requests before it took too long")
	errSlow  = errors.New("no whole response")
)

// get fetches a page. If it is larger than limit bytes, get returns these and address.ErrLarge.
func (s *Service) get(ctx context.Context, page string, limit int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, errLate
	}
	began := time.Now()
	data, err := s.client.Get(ctx, s.page(page), limit)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w within %s", errSlow, time.Since(began).Round(time.Millisecond))
	case err == nil && len(data) == 0:
		return nil, errors.New("empty response")
	case err != nil:
		return data, s.explain(err)
	}
	return data, nil
}

// page returns the address of a page with its query, relative to the profiles.
func (s *Service) page(name string) *url.URL {
	name, query, _ := strings.Cut(name, "?")
	u := s.base.JoinPath(name)
	u.RawQuery = query
	return u
}

// explain adds what to check at a service of profiles.
func (s *Service) explain(err error) error {
	refused := new(address.StatusError)
	switch text := err.Error(); {
	case errors.Is(err, errSpent):
		return errSpent
	case errors.As(err, &refused) && refused.Code == http.StatusUnauthorized, refused.Code == http.StatusForbidden && refused.Reason == "":
		return fmt.Errorf(`%w (-header "Authorization: Bearer TOKEN" passes a token)`, err)
	case refused.Code == http.StatusNotFound:
		return fmt.Errorf(`%w A mux of its own needs mux.HandleFunc("/debug/pprof/", pprof.Index) and its siblings`, err)
	case s.socket != "" && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("connection refused: nothing listens on the socket %s", s.socket)
	case strings.Contains(text, "remote error: tls: ") && strings.Contains(text, "certificate"):
		return fmt.Errorf("the service refuses this client (%s): pass its certificate and key with -cert and -key", text)
	case strings.Contains(text, "certificate is not trusted"):
		return fmt.Errorf("%w with -ca FILE; if the name in it is another one, pass that with -header \"Host: NAME\"", err)
	}
	return err
}
