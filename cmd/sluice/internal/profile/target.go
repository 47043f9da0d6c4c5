package profile

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// IsAddress reports whether target looks like an address of a service and not
// like the name of a file: a URL, host:port or :port.
func IsAddress(target string) bool {
	if strings.Contains(target, "://") {
		return true
	}
	hostPort, _, _ := strings.Cut(target, "/")
	_, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// baseOf returns the URL of the folder of profiles that target means, such as
// http://host:6060/debug/pprof/.
func baseOf(target string) (*url.URL, error) {
	text := target
	if !strings.Contains(text, "://") {
		if strings.HasPrefix(text, ":") {
			text = "localhost" + text
		}
		text = "http://" + text
	}
	base, err := url.Parse(text)
	if err != nil {
		// The parser's error repeats the target, and with it a password.
		return nil, errors.New("the address cannot be understood: expected http://host:port/debug/pprof/ or host:port")
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the address begins with %s://, expected http:// or https://", base.Scheme)
	}
	if base.Hostname() == "" {
		return nil, errors.New("the address has no host: expected http://host:port/debug/pprof/ or host:port")
	}
	base.RawQuery, base.Fragment = "", ""
	switch {
	case base.Path == "" || base.Path == "/":
		base.Path = "/debug/pprof/"
	case !strings.HasSuffix(base.Path, "/"):
		base.Path += "/"
	}
	return base, nil
}

// shown is u without user, password and query.
func shown(u *url.URL) string {
	bare := *u
	bare.User = nil
	bare.RawQuery = ""
	return bare.String()
}
