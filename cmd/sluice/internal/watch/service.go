package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-go/sluice/debug"
)

// Limits of one question.
const (
	answersWithin = 5 * time.Second
	maxAnswer     = 16 << 20 // bytes; 200 channels make some 150 KB
	maxReason     = 200      // bytes of a refusal that are repeated
	maxRedirects  = 3
)

// errGone is the answer where the channel asked for is none, or no more.
var errGone = errors.New("this channel is garbage now: nothing in the service refers to it")

// A Service is where package debug's handler is.
type Service struct {
	base   *url.URL
	client *http.Client
	within time.Duration // that an answer takes
}

func newService(base *url.URL) *Service {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DisableCompression = true // sizes are limited as they are sent
	return &Service{base: base, within: answersWithin, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != base.Host || next.URL.Scheme != base.Scheme {
				return fmt.Errorf("redirects to %s://%s: not followed", next.URL.Scheme, next.URL.Host)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("redirects more than %d times", maxRedirects)
			}
			return nil
		},
	}}
}

// String is the address without user and password, which is safe to print.
func (s *Service) String() string {
	bare := *s.base
	bare.User = nil
	return clean(bare.String())
}

// short is the address in few words, for a title.
func (s *Service) short() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.String(), "http://"), path)
}

// Ask asks for channels. Its errors are one line each, safe to print; errGone is
// among them, and the context's own.
func (s *Service) Ask(ctx context.Context, q Query) (*debug.Report, error) {
	limited, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	report, err := s.ask(limited, q)
	switch {
	case err == nil || err == errGone:
		return report, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("does not answer within %s", s.within)
	}
	return nil, errors.New(clean(err.Error()))
}

func (s *Service) ask(ctx context.Context, q Query) (*debug.Report, error) {
	u := *s.base
	u.RawQuery = q.encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	request.Header.Set("User-Agent", "sluice-watch")
	response, err := s.client.Do(request)
	if err != nil {
		// The client's error repeats the address, and with it a password.
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response, q)
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		return nil, errors.New("answers with a web page, not with JSON: is debug.Handler elsewhere?")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("ends its answer too early")
	case err != nil:
		return nil, err
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("answers with more than %d MiB", maxAnswer>>20)
	}
	var report debug.Report
	if err := json.Unmarshal(text, &report); err != nil || report.Time.IsZero() {
		return nil, errors.New("answers with something that is no report of channels: is debug.Handler elsewhere?")
	}
	return &report, nil
}

// refusal says what an answer other than 200 means. The handler's own begin with
// the name of the project.
func refusal(response *http.Response, q Query) error {
	head, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	reason, _, _ := strings.Cut(string(head), "\n")
	ours := strings.HasPrefix(reason, "sluice: ")
	switch {
	case response.StatusCode == http.StatusNotFound && ours && q.Channel != 0:
		return errGone
	case response.StatusCode == http.StatusNotFound && !ours:
		return errors.New("answers 404 Not Found: is debug.Handler registered there?")
	case ours:
		return fmt.Errorf("answers %d: %s", response.StatusCode, strings.TrimPrefix(reason, "sluice: "))
	}
	return fmt.Errorf("answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
}
