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

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/internal/redact"
	"github.com/sluice-go/sluice/livepage"
)

// Limits of one request.
const (
	answersWithin = 5 * time.Second
	maxAnswer     = 16 << 20 // bytes; 200 channels take about 150 KB
	maxReason     = 500      // bytes of an error response that are shown
	maxRedirects  = 3
)

// errGone reports that the requested channel does not exist, or no longer.
var errGone = errors.New("this channel no longer exists: the garbage collector has freed it")

// A Service is the address of package livepage's handler.
type Service struct {
	base   *url.URL
	client *http.Client
	within time.Duration // timeout of a request
}

func newService(base *url.URL) *Service {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DisableCompression = true // limits apply to the bytes on the wire
	return &Service{base: base, within: answersWithin, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != base.Host || next.URL.Scheme != base.Scheme {
				return fmt.Errorf("refused a redirect to %s://%s", next.URL.Scheme, next.URL.Host)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}}
}

// String returns the address without user and password, safe to print.
func (s *Service) String() string {
	return format.Clean(redact.URL(s.base))
}

// short returns a short form of the address, for a title.
func (s *Service) short() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.String(), "http://"), path)
}

// Fetch requests channels, and for a list also the map, from one reading of the
// channels. The report of an older service has no map. Errors are single lines
// that are safe to print, including errGone; Fetch returns context errors as they
// are.
func (s *Service) Fetch(ctx context.Context, q Query) (*livepage.Report, error) {
	query := q.encode()
	if q.Channel == 0 {
		report, err := s.report(ctx, query+"&flow=1")
		if refused := new(badRequest); !errors.As(err, &refused) {
			return report, err
		} // an older service, or a query that it also refuses without a map
	}
	report, err := s.report(ctx, query)
	if q.Channel != 0 && errors.Is(err, errNotFound) {
		err = errGone
	}
	return report, err
}

var (
	errNoReport = errors.New("the response is not a report of channels: is livepage.Handler at another address?")
	errNotFound = errors.New("status 404: no such channel") // the handler's own
)

// A badRequest is a response with status 400 of the handler.
type badRequest struct{ reason string }

func (e *badRequest) Error() string { return "status 400: " + e.reason }

// report requests a report.
func (s *Service) report(ctx context.Context, query string) (*livepage.Report, error) {
	limited, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	text, err := s.fetch(limited, query)
	switch refused := new(badRequest); {
	case err == nil:
		report := new(livepage.Report)
		if json.Unmarshal(text, report) != nil || report.Time.IsZero() {
			return nil, errNoReport
		}
		return report, nil
	case errors.Is(err, errNotFound), errors.As(err, &refused):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("no response within %s: %s", s.within, address.CheckReach)
	}
	return nil, errors.New(format.Clean(err.Error()))
}

func (s *Service) fetch(ctx context.Context, query string) ([]byte, error) {
	u := *s.base
	u.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	request.Header.Set("User-Agent", "sluice-watch")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, address.Explain(err, s.base)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, s.refusal(response)
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		return nil, errors.New("the response is a web page, not JSON: is livepage.Handler at another address?")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete response")
	case err != nil:
		return nil, err
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("response larger than %d MiB", maxAnswer>>20)
	}
	return text, nil
}

// refusal converts an error response. The handler's own errors begin with the
// name of the project.
func (s *Service) refusal(response *http.Response) error {
	head, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	reason, _, _ := strings.Cut(string(head), "\n")
	ours := strings.HasPrefix(reason, "sluice: ")
	switch {
	case ours && response.StatusCode == http.StatusNotFound:
		return errNotFound
	case ours && response.StatusCode == http.StatusBadRequest:
		return &badRequest{format.Clean(strings.TrimPrefix(reason, "sluice: "))}
	case ours:
		return fmt.Errorf("status %d: %s", response.StatusCode, strings.TrimPrefix(reason, "sluice: "))
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media != "text/plain" {
		reason = ""
	}
	return errors.New(address.ExplainStatus(response.StatusCode, reason, s.base, "livepage.Handler"))
}
