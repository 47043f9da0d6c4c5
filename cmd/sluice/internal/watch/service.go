package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	maxAnswer     = 16_000_000 // bytes; 200 channels take about 150 KB
)

// errGone reports that the requested channel does not exist, or no longer.
var errGone = errors.New("this channel no longer exists: the garbage collector has freed it")

// A Service is the address of package livepage's handler.
type Service struct {
	base   *url.URL
	client *address.Client
	within time.Duration // timeout of a request
}

// path is where package livepage's handler is by custom.
const path = "/debug/sluice"

// At returns the service at target (host:port, :port, or a URL, with or without a
// path) and the query of the URL, which may be copied from a browser. It does not
// connect.
func At(target string) (*Service, Query, error) {
	q := Query{Page: 1}
	base, err := address.Parse(target, path)
	if err == nil {
		err = q.read(base.RawQuery)
	}
	if err != nil {
		return nil, q, err
	}
	base.RawQuery = ""
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DisableCompression = true // limits apply to the bytes on the wire
	return &Service{base, address.NewClient("sluice-watch", "livepage.Handler", nil, transport), answersWithin}, q, nil
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
		if refused(err) != http.StatusBadRequest {
			return report, err
		} // an older service, or a query that it also refuses without a map
	}
	report, err := s.report(ctx, query)
	if q.Channel != 0 && refused(err) == http.StatusNotFound {
		err = errGone
	}
	return report, err
}

var errNoReport = errors.New("the response is not a report of channels: is livepage.Handler at another address?")

// refused returns the status of an error of the handler itself, or 0.
func refused(err error) int {
	if status := new(address.StatusError); errors.As(err, &status) {
		if _, ours := status.Ours(); ours {
			return status.Code
		}
	}
	return 0
}

// report requests a report.
func (s *Service) report(ctx context.Context, query string) (*livepage.Report, error) {
	limited, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	u := *s.base
	u.RawQuery = query
	text, err := s.client.Get(limited, &u, maxAnswer)
	switch {
	case err == nil:
		report := new(livepage.Report)
		if json.Unmarshal(text, report) != nil || report.Time.IsZero() {
			return nil, errNoReport
		}
		return report, nil
	case refused(err) != 0:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("no response within %s: %s", s.within, address.CheckReach)
	}
	return nil, errors.New(format.Clean(err.Error()))
}
