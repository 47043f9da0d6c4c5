// Package address parses the address of a service, as it is given on a command
// line.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

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
