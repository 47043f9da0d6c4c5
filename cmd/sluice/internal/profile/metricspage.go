package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
)

// metricsPages returns the candidate pages with metrics of the service at base:
// the named one, or the usual places. A named page may be on another port,
// because many services serve metrics apart from profiles, but only on the same
// host: the figures of another machine would be taken for the service's.
func metricsPages(base *url.URL, name string) ([]*url.URL, error) {
	if name == "" {
		var pages []*url.URL
		for _, path := range []string{"../metrics", "/metrics", "../vars"} {
			page, err := base.Parse(path)
			if err != nil {
				return nil, err
			}
			pages = append(pages, page)
		}
		return pages, nil
	}
	page, err := namedPage(base, name)
	if err != nil {
		return nil, err
	}
	if !sameHost(page.Hostname(), base.Hostname()) {
		return nil, errors.New("the page of metrics must be on the same host as the service, on any port: " +
			"another host runs another process")
	}
	// Another port may be another program, which must not learn the password.
	if page.User == nil && page.Host == base.Host && page.Scheme == base.Scheme {
		page.User = base.User
	}
	return []*url.URL{page}, nil
}

// namedPage parses a path, a URL, host:port or :port. Like the page of a target,
// an address without a path has the usual one.
func namedPage(base *url.URL, name string) (*url.URL, error) {
	const usual = "/metrics"
	if strings.HasPrefix(name, ":") { // another port of the host that the target names
		host := base.Hostname()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		name = host + name
	}
	if address.Like(name) {
		return address.Parse(name, usual)
	}
	page, err := base.Parse(name)
	if err != nil { // the parser's error repeats the name, and with it a password
		return nil, errors.New("invalid page of metrics (want a path such as /metrics, or an address such as :9090/metrics)")
	}
	return page, nil
}

// sameHost reports whether two host names are the same, or both this machine.
func sameHost(a, b string) bool {
	return strings.EqualFold(a, b) || loopback(a) && loopback(b)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// findMetrics looks for a page with metrics, and takes the first reading. It
// prefers the first page with mutex waits and wake-ups, and accepts any other.
func (s *Service) findMetrics(ctx context.Context) error {
	var found *Reading
	var at *url.URL
	for _, u := range s.metrics {
		if !time.Now().Before(s.due) {
			break
		}
		reading, err := s.reading(ctx, u)
		if err != nil {
			continue // readMetrics reports it
		}
		_, waits := reading.Values[metricMutexWait]
		_, wakes := reading.Histograms[metricLatencies]
		if found == nil || waits && wakes {
			found, at = reading, u
		}
		if waits && wakes {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.metrics = nil; found == nil {
		return nil
	}
	s.metrics = []*url.URL{at}
	return s.keep(found, "metrics-before.json")
}

func (s *Service) reading(ctx context.Context, u *url.URL) (*Reading, error) {
	data, err := s.getter.get(ctx, u, s.left(0), maxMetrics)
	if err != nil {
		return nil, err
	}
	reading, err := readReading(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if reading.At.IsZero() {
		reading.At = time.Now().UTC()
	}
	return reading, nil
}

// keep keeps a reading in our own format: the page itself may hold unrelated or
// private metrics.
func (s *Service) keep(reading *Reading, file string) error {
	text, err := json.Marshal(reading)
	if err != nil {
		return err
	}
	s.files = append(s.files, File{file, text})
	return s.parts.put(part{name: file, kind: KindMetrics, reading: reading}, nil)
}

func (s *Service) readMetrics(ctx context.Context, file string) error {
	if len(s.metrics) == 0 {
		return errors.New("found no page with metrics of the Go runtime")
	}
	reading, err := s.reading(ctx, s.metrics[0])
	if err != nil {
		return err
	}
	return s.keep(reading, file)
}
