package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
)

// Limits of one request.
const (
	dialTime     = 5 * time.Second
	usualGrace   = 10 * time.Second
	usualBudget  = 20 * time.Second // for all requests and traces, in addition to the observation
	maxRedirects = 3
)

// A getter sends requests to one host. Each request fails grace after its response
// was due, and all together after budget more than the observation.
type getter struct {
	client        *http.Client
	grace, budget time.Duration
}

// errStatus is a response with a status other than 200.
type errStatus struct {
	code   int
	reason string // first line of the response, if it is text
}

func (e *errStatus) Error() string {
	if e.reason == "" {
		return fmt.Sprintf("status %d %s", e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("status %d %s: %s", e.code, http.StatusText(e.code), e.reason)
}

// errSlow is a request without a response in time.
type errSlow struct{ within time.Duration }

func (e *errSlow) Error() string {
	return fmt.Sprintf("no response within %s", e.within.Round(time.Millisecond))
}

// newGetter returns a getter that keeps no connections open and follows no
// redirect to another host.
func newGetter() getter {
	return getter{grace: usualGrace, budget: usualBudget, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout:    dialTime,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
			DisableCompression:     true, // limits apply to the bytes on the wire
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != via[0].URL.Host {
				return fmt.Errorf("refused a redirect to another host, %s", next.URL.Host)
			}
			if next.URL.Scheme != via[0].URL.Scheme {
				return fmt.Errorf("refused a redirect from %s to %s", via[0].URL.Scheme, next.URL.Scheme)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}}
}

// get fetches at most limit bytes of u, within the given time.
func (g getter) get(ctx context.Context, u *url.URL, within time.Duration, limit int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	data, err := request(limited, g.client, u, limit)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &errSlow{within}
	}
	return nil, err
}

func request(ctx context.Context, client *http.Client, u *url.URL, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	req.Header.Set("User-Agent", "sluice-doctor")
	response, err := client.Do(req)
	if err != nil {
		return nil, address.Explain(err, u)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &errStatus{response.StatusCode, reasonIn(response)}
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		return nil, errors.New("the response is a web page")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete response: the connection ended early; try again")
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("response larger than %d MB", limit>>20)
	case len(data) == 0:
		return nil, errors.New("empty response")
	}
	return data, nil
}

// maxReason limits the part of a response in an error, in bytes.
const maxReason = 300

// reasonIn returns the first line of an error response, without control
// characters.
func reasonIn(response *http.Response) string {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if media != "text/plain" || response.StatusCode == http.StatusNotFound {
		return ""
	}
	head, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, firstLine(string(head)))
}
