package address

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/internal/redact"
)

// A Client requests pages of a service. It follows at most three redirects, and none to
// another host.
type Client struct {
	http.Client
	agent, handler string
	header         http.Header
}

// NewClient returns a client with a name for the service, and with what the service has to
// register, such as "livepage.Handler". It sends header with each request; its Host is also
// that of the request.
func NewClient(agent, handler string, header http.Header, transport *http.Transport) *Client {
	return &Client{http.Client{Transport: transport, CheckRedirect: redirect}, agent, handler, header}
}

// Errors of Get that are not of the connection.
var (
	ErrLarge = errors.New("response larger") // than its limit
	errPage  = errors.New("the response is a web page")
)

// maxReason is how much of an error response is read, in bytes.
const maxReason = 500

// Get returns the page at u. If it is larger than limit bytes, Get returns these and
// ErrLarge. Errors say what to check, and do not repeat passwords; one of the service
// is a *StatusError.
func (c *Client) Get(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	request.Header.Set("User-Agent", c.agent)
	maps.Copy(request.Header, c.header)
	request.Host = cmp.Or(c.header.Get("Host"), request.Host)
	response, err := c.Do(request)
	if err != nil {
		return nil, Explain(err, u)
	}
	defer response.Body.Close()
	defer cancel() // so that Close does not read on to reuse the connection
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK {
		refused := &StatusError{Code: response.StatusCode, at: u, handler: c.handler}
		if media == "" || media == "text/plain" {
			head, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
			line, _, _ := bytes.Cut(head, []byte("\n"))
			refused.Reason = format.Clean(strings.TrimSpace(string(line)))
		}
		return nil, refused
	}
	if media == "text/html" {
		return nil, fmt.Errorf("%w: is %s at another address?", errPage, c.handler)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete response: the connection ended early; try again")
	case err != nil:
		return nil, Explain(err, u)
	case int64(len(data)) > limit:
		return data[:limit], fmt.Errorf("%w than %s", ErrLarge, Megabytes(limit))
	}
	return data, nil
}

// Megabytes writes a number of bytes: "4 MB".
func Megabytes(n int64) string { return fmt.Sprintf("%.3g MB", float64(n)/1e6) }

func redirect(next *http.Request, via []*http.Request) error {
	switch was := via[0].URL; {
	case next.URL.Host != was.Host, next.URL.Scheme != was.Scheme && next.URL.Scheme != "https":
		return fmt.Errorf("refused a redirect to %s", redact.URL(next.URL))
	case len(via) > 3:
		return errors.New("more than 3 redirects")
	}
	next.Host = via[0].Host
	return nil
}

// A StatusError is a response with a status other than 200.
type StatusError struct {
	Code    int
	Reason  string // the first line of the response, if it is text
	at      *url.URL
	handler string
}

// plainToTLS is the response of Go's servers to HTTP on a port for HTTPS.
const plainToTLS = "Client sent an HTTP request to an HTTPS server"

// Ours returns the reason of an error of package livepage itself.
func (e *StatusError) Ours() (reason string, ours bool) {
	return strings.CutPrefix(e.Reason, "sluice: ")
}

// Error describes the response, with what to check.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("status %d %s", e.Code, http.StatusText(e.Code))
	reason, ours := e.Ours()
	switch {
	case ours:
		return fmt.Sprintf("status %d: %s", e.Code, reason)
	case strings.HasPrefix(reason, plainToTLS):
		return fmt.Sprintf("the service uses TLS on this port: request https://%s", e.at.Host)
	case e.Code == http.StatusNotFound:
		return fmt.Sprintf("%s: does the service register %s at %s, on this port?", text, e.handler, e.at.Path)
	case e.Code == http.StatusUnauthorized:
		return text + ": pass user and password as http://USER:PASSWORD@" + e.at.Host
	case reason != "":
		return text + ": " + reason
	case e.Code == http.StatusForbidden:
		return text + ": the service or a proxy refuses this host name or client. Does it answer on its own machine, as localhost?"
	case e.Code == http.StatusBadGateway, e.Code == http.StatusServiceUnavailable, e.Code == http.StatusGatewayTimeout:
		return text + ": a proxy does not reach the service. Is the service running?"
	}
	return text
}
