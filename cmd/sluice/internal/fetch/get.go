package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
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

// Limits of one request.
const (
	maxRedirects = 3
	maxReason    = 300 // bytes of a response that are part of an error
)

// A meter holds the bytes that may still be read from a service: bodies, headers and what
// else its connections carry.
type meter struct{ atomic.Int64 }

// A metered connection reads no more than its meter has.
type metered struct {
	net.Conn
	left *meter
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

// errSpent ends requests that need more than an observation may take.
var errSpent = fmt.Errorf("left out: all parts together are larger than %s", megabytes(maxBytes))

// errLate ends requests for which there is no time.
var errLate = errors.New("left out: the requests before it took too long")

// errLarge is a response that is larger than its limit.
type errLarge struct{ limit int64 }

func (e *errLarge) Error() string { return "response larger than " + megabytes(e.limit) }

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
	case e.code == http.StatusUnauthorized:
		text += `. Pass a token with -header "Authorization: Bearer TOKEN"`
	case e.code == http.StatusForbidden && e.reason == "":
		text += ` Pass a token with -header "Authorization: Bearer TOKEN"`
	case e.code == http.StatusNotFound:
		text += ` A mux of its own needs mux.HandleFunc("/debug/pprof/", pprof.Index) and its siblings`
	}
	return text
}

// errSlow is a request without a response in time.
type errSlow struct{ within time.Duration }

func (e *errSlow) Error() string {
	return fmt.Sprintf("no whole response within %s", e.within.Round(time.Millisecond))
}

// get fetches a page. If it is larger than limit bytes, get returns these and an *errLarge.
func (s *Service) get(ctx context.Context, page string, limit int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, errLate
	}
	began := time.Now()
	data, err := s.request(ctx, s.page(page), limit)
	if err != nil && ctx.Err() != nil {
		return nil, &errSlow{time.Since(began)}
	}
	return data, err
}

func (s *Service) request(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	request.Header.Set("User-Agent", "sluice-doctor")
	for name, values := range s.o.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := s.o.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.explain(err, u)
	}
	defer response.Body.Close()
	defer cancel() // so that Close does not read on to reuse the connection
	if response.StatusCode != http.StatusOK {
		return nil, &errStatus{response.StatusCode, reasonIn(response), u}
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		return nil, errors.New("the response is a web page: is this the address of the profiles?")
	}
	var body io.Reader = response.Body
	switch encoding := response.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		if body, err = gzip.NewReader(body); err != nil {
			return nil, errors.New("invalid response: not in the form of gzip that its header announces")
		}
	default:
		return nil, fmt.Errorf("unsupported encoding %.40q of the response (want none, or gzip)", encoding)
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete response: the connection ended early; try again")
	case err != nil:
		return nil, s.explain(err, u)
	case int64(len(data)) > limit:
		return data[:limit], &errLarge{limit}
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

// reasonIn returns the first line of an error response. A missing page says nothing.
func reasonIn(response *http.Response) string {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if media != "" && media != "text/plain" || response.StatusCode == http.StatusNotFound {
		return ""
	}
	head, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return strings.TrimSpace(string(line))
}
