package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
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
	errSpent = fmt.Errorf("left out: all parts together are larger than %s", megabytes(maxBytes))
	errLate  = errors.New("left out: the requests before it took too long")
	errLarge = errors.New("response larger") // than its limit
	errSlow  = errors.New("no whole response")
)

func megabytes(n int64) string { return fmt.Sprintf("%.3g MB", float64(n)/1e6) }

// errStatus is a response with a status other than 200.
type errStatus struct {
	code   int
	reason string // first line of the response, if it is text
	at     *url.URL
}

func (e *errStatus) Error() string {
	text := address.ExplainStatus(e.code, e.reason, e.at, "net/http/pprof")
	switch {
	case e.code == http.StatusUnauthorized, e.code == http.StatusForbidden && e.reason == "":
		text += ` (-header "Authorization: Bearer TOKEN" passes a token)`
	case e.code == http.StatusNotFound:
		text += ` A mux of its own needs mux.HandleFunc("/debug/pprof/", pprof.Index) and its siblings`
	}
	return text
}

// get fetches a page. If it is larger than limit bytes, get returns these and errLarge.
func (s *Service) get(ctx context.Context, page string, limit int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, errLate
	}
	began := time.Now()
	data, err := s.request(ctx, s.page(page), limit)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w within %s", errSlow, time.Since(began).Round(time.Millisecond))
	}
	return data, err
}

// page returns the address of a page with its query, relative to the profiles.
func (s *Service) page(name string) *url.URL {
	name, query, _ := strings.Cut(name, "?")
	u := s.base.JoinPath(name)
	u.RawQuery = query
	return u
}

func (s *Service) request(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	request.Header.Set("User-Agent", "sluice-doctor")
	maps.Copy(request.Header, s.o.Header)
	request.Host = cmp.Or(s.o.Header.Get("Host"), request.Host)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.explain(err, u)
	}
	defer response.Body.Close()
	defer cancel() // so that Close does not read on to reuse the connection
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK {
		why := &errStatus{code: response.StatusCode, at: u}
		if (media == "" || media == "text/plain") && why.code != http.StatusNotFound { // a missing page says nothing
			head, _ := io.ReadAll(io.LimitReader(response.Body, 300))
			line, _, _ := bytes.Cut(head, []byte("\n"))
			why.reason = strings.TrimSpace(string(line))
		}
		return nil, why
	}
	if media == "text/html" {
		return nil, errors.New("the response is a web page: is this the address of the profiles?")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete response: the connection ended early; try again")
	case err != nil:
		return nil, s.explain(err, u)
	case int64(len(data)) > limit:
		return data[:limit], fmt.Errorf("%w than %s", errLarge, megabytes(limit))
	case len(data) == 0:
		return nil, errors.New("empty response")
	}
	return data, nil
}

// explain adds what to check to an error of a connection.
func (s *Service) explain(err error, u *url.URL) error {
	switch {
	case errors.Is(err, errSpent):
		return errSpent
	case s.socket != "" && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("connection refused: nothing listens on the socket %s", s.socket)
	}
	err = address.Explain(err, u)
	switch text := err.Error(); {
	case strings.Contains(text, "remote error: tls: ") && strings.Contains(text, "certificate"):
		return fmt.Errorf("the service refuses this client (%s): pass its certificate and key with -cert and -key", text)
	case strings.Contains(text, "certificate is not trusted"):
		return fmt.Errorf("%w with -ca FILE; if the name in it is another one, pass that with -header \"Host: NAME\"", err)
	}
	return err
}
