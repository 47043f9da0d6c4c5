// Package fetch takes from a running service what the doctor reads: two dumps of its
// goroutines, a CPU profile, a short execution trace, and its own map of named channels.
//
// A service is only read, through package net/http/pprof: none of its settings change.
// However large, slow or hostile it is, one observation takes at most [maxBytes] from it
// and ends [extraTime] after the CPU profile was due. Capture.Missing names each part that
// fails or does not fit, with the reason.
//
// The costs for the service: the CPU profile interrupts each busy thread 100
// times a second. The text of all goroutines stops the program for 5 to 10 µs each
// (measured with Go 1.26), so it is requested only below maxStates of them. The trace
// slows the switch from one goroutine to the next by up to 60%, as long as its byte
// budget lasts: 30 ms of a service with millions of switches a second, two seconds of a
// quiet one.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/internal/redact"
)

// Options are what a service needs to be reached, and what may be asked of it.
type Options struct {
	Header http.Header // sent with each request; its Host is also the name that the certificate must have

	// CertFile and KeyFile are a client certificate and its key, and CAFile has
	// authorities to trust beside the system's, all in PEM form. There is no way to
	// accept a certificate unchecked: a self-signed one is its own authority. With one of
	// them an address without a scheme means https.
	CertFile, KeyFile, CAFile string

	// Others returns the CPU seconds of all processes of this machine but this one since
	// some moment, nil if unknown, and its number of CPUs. Watch calls it if the address of
	// the service is on this machine. It must be nil for an address of [Pod].
	Others func() (seconds *float64, cpus int)

	// Trace takes an execution trace. Without one, Watch takes the contention profiles,
	// which say less and only of services that turned them on.
	Trace bool

	// Leaks takes the leak profile of Go 1.27, and of 1.26 built with
	// GOEXPERIMENT=goroutineleakprofile. For that the service runs a garbage collection
	// that it would not have run by itself.
	Leaks bool
}

// A Service is a running process that serves net/http/pprof. It is not safe for
// concurrent use.
type Service struct {
	base    *url.URL
	socket  string // path of the Unix socket; "" for TCP
	o       Options
	client  *address.Client
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	left    atomic.Int64 // bytes that may still be read from the service
	reached atomic.Bool  // it accepted a connection

	header capture.Header
	mu     sync.Mutex // guards files and header.Missing while requests run concurrently
	files  map[string][]byte
}

// At returns the service at an address, without connecting to it: a URL, host:port or
// :port, with the path of its profiles if that is not /debug/pprof/, or
// unix:/path/to.sock. A query is ignored. Errors do not repeat passwords.
func At(target string, o Options) (*Service, error) {
	s := &Service{o: o, dial: new(net.Dialer).DialContext}
	config, err := clientTLS(&o)
	if err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(target, "unix:"); ok {
		s.socket = strings.TrimPrefix(path, "//")
		if s.socket == "" {
			return nil, errors.New("the address has no socket (want unix:/path/to.sock)")
		}
		target = "localhost"
	}
	if s.base, err = address.Parse(target, pprofPath); err != nil {
		return nil, err
	}
	switch {
	case o.CertFile == "" && o.CAFile == "":
	case !strings.Contains(target, "://"):
		s.base.Scheme = "https"
	case s.base.Scheme != "https":
		return nil, errors.New("a certificate requires an address of https")
	}
	if at := strings.Index(s.base.Path, pprofPath); at >= 0 { // the page of one profile
		s.base.Path = s.base.Path[:at] + pprofPath
	}
	s.base.RawPath, s.base.RawQuery = "", ""
	s.client = address.NewClient("sluice-doctor", "net/http/pprof", o.Header, s.transport(config))
	return s, nil
}

const pprofPath = "/debug/pprof/"

// Target returns the address without user and password.
func (s *Service) Target() string {
	if s.socket != "" {
		return format.Clean("unix:" + s.socket)
	}
	return strings.TrimSuffix(redact.URL(s.base), "/")
}

func clientTLS(o *Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: (&url.URL{Host: o.Header.Get("Host")}).Hostname()}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("a client certificate requires its file and the file of its key")
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, &capture.FileError{Name: o.CertFile, Err: err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if o.CAFile != "" {
		text, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, err
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, &capture.FileError{Name: o.CAFile, Err: errors.New("no certificate in PEM form")}
		}
	}
	return config, nil
}

// transport returns the connections of the service.
func (s *Service) transport(config *tls.Config) *http.Transport {
	transport := &http.Transport{
		TLSClientConfig:        config,
		MaxResponseHeaderBytes: 16 << 10,
		DisableCompression:     true, // it costs the service time, and profiles are compressed
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			if s.socket != "" {
				network, to = "unix", s.socket
			}
			conn, err := s.dial(ctx, network, to)
			if err != nil {
				return nil, err
			}
			s.reached.Store(true)
			return &metered{conn, &s.left}, nil
		},
	}
	if s.socket == "" {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return transport
}
