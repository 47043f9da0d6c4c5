// Package address parses the address of a service, as it is given on a command
// line, requests its pages, and explains why a request failed.
package address

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/sluice-go/sluice/internal/redact"
)

// Like reports whether target looks like an address of a service rather than a
// file name: a URL, host:port or :port, or one with user and password.
func Like(target string) bool {
	if strings.Contains(target, "://") {
		return true
	}
	at := strings.LastIndex(target, "@")
	if strings.Contains(target[:max(at, 0)], ":") {
		return true
	}
	hostPort, _, _ := strings.Cut(target[at+1:], "/")
	_, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// Parse returns the URL of target: host:port, :port, or a URL with scheme http or
// https. A target without a path gets the given one. The URL keeps the query and
// loses the fragment. Errors do not repeat passwords.
func Parse(target, path string) (*url.URL, error) {
	text := target
	if !strings.Contains(text, "://") {
		if strings.HasPrefix(text, ":") {
			text = "localhost" + text
		}
		text = "http://" + text
	}
	want := fmt.Sprintf("(want host:port, or a URL such as http://host:port%s)", path)
	u, err := redact.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w %s", err, want)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("unsupported scheme %q %s", u.Scheme, want)
	case u.Hostname() == "":
		return nil, errors.New("the address has no host " + want)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = path
	}
	u.Fragment = ""
	return u, nil
}

// A hint is an error with what to check.
type hint struct {
	cause error
	text  string
}

func (h *hint) Error() string { return h.text }
func (h *hint) Unwrap() error { return h.cause }

// Explain adds to the error of a request to u what to check. It removes the
// address and the query, which may be secret, from errors of package http. An
// error that it does not know is otherwise returned as it is.
func Explain(err error, u *url.URL) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	if text := explanation(err, u); text != "" {
		return &hint{err, text}
	}
	return err
}

func explanation(err error, u *url.URL) string {
	var name *net.DNSError
	var noTLS tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("connection refused: nothing listens on %s. Is the service running, and is this its port?", u.Host)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return fmt.Sprintf("connection closed without a response: is %s the port for HTTP?", u.Port())
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("no route to %s: is this machine in its network?", u.Hostname())
	case errors.As(err, &name):
		return fmt.Sprintf("no address is known for the host %s: is its name spelled correctly?", u.Hostname())
	case errors.As(err, &noTLS), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("the service does not use TLS on this port: request http://%s", u.Host)
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Sprintf("the response is not HTTP: is %s the right port? If it uses TLS, request https://%s", u.Port(), u.Host)
	case errors.As(err, &authority), errors.As(err, &hostname):
		return fmt.Sprintf("the certificate is not trusted (%v): use the name in it, or add its authority to this system", err)
	case isTimeout(err):
		return "no response in time: " + CheckReach
	}
	return ""
}

// CheckReach is what to check if a service does not respond in time.
const CheckReach = "is the host right, and does a firewall let this port through?"

func isTimeout(err error) bool {
	var slow net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}
