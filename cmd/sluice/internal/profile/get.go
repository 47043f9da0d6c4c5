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
)

// Limits of one request.
const (
	dialTime      = 5 * time.Second
	usualGrace    = 15 * time.Second
	usualPatience = 40 * time.Second // in all requests together, beside the time that is watched
	maxRedirects  = 3
)

// A getter asks one host, and gives up grace after an answer was due, and patience
// after all answers were.
type getter struct {
	client          *http.Client
	grace, patience time.Duration
}

// errStatus is an answer other than 200.
type errStatus struct {
	code   int
	reason string // the first line of the answer, if it is text
}

func (e *errStatus) Error() string {
	if e.reason == "" {
		return fmt.Sprintf("answers %d %s", e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("answers %d %s: %s", e.code, http.StatusText(e.code), e.reason)
}

// newGetter returns a getter that leaves no connection behind, and that talks
// to no other host than the one it was told to.
func newGetter() getter {
	return getter{grace: usualGrace, patience: usualPatience, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout:    dialTime,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
			DisableCompression:     true, // sizes are limited as they are sent
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != via[0].URL.Host {
				return fmt.Errorf("redirects to another host, %s: not followed", next.URL.Host)
			}
			if next.URL.Scheme != via[0].URL.Scheme {
				return fmt.Errorf("redirects from %s to %s: not followed", via[0].URL.Scheme, next.URL.Scheme)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("redirects more than %d times", maxRedirects)
			}
			return nil
		},
	}}
}

// get fetches u, within the time given, and at most limit bytes.
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
		return nil, fmt.Errorf("does not answer within %s", within.Round(time.Millisecond))
	}
	return nil, err
}

func request(ctx context.Context, client *http.Client, u *url.URL, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	req.Header.Set("User-Agent", "sluice-doctor")
	response, err := client.Do(req)
	if err != nil {
		// The client's error repeats the address, and names the method.
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("closes the connection without an answer")
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &errStatus{response.StatusCode, reasonIn(response)}
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		return nil, errors.New("answers with a web page")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("ends its answer too early")
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("answers with more than %d MB", limit>>20)
	case len(data) == 0:
		return nil, errors.New("answers with nothing")
	}
	return data, nil
}

// maxReason is how much of an answer is repeated, in bytes.
const maxReason = 120

// reasonIn returns the first line of a refusal, made harmless for a terminal.
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
