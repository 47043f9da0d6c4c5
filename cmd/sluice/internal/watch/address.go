package watch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// path is where package debug's handler is by custom.
const path = "/debug/sluice"

const wanted = "expected host:port, or a URL such as http://host:port" + path

// At returns the service that a user means by target: host:port, :port, or a URL,
// with or without a path; and what the address asks for, as that of a page in a
// browser does. Nothing is asked yet.
func At(target string) (*Service, Query, error) {
	q := Query{Page: 1}
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
		return nil, q, errors.New("the address cannot be understood: " + wanted)
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, q, fmt.Errorf("the address begins with %q, %s", clean(base.Scheme)+"://", wanted)
	}
	if base.Hostname() == "" {
		return nil, q, errors.New("the address has no host: " + wanted)
	}
	if err := q.read(base.RawQuery); err != nil {
		return nil, q, err
	}
	if base.Path == "" || base.Path == "/" {
		base.Path = path
	}
	base.RawQuery, base.Fragment = "", ""
	return newService(base), q, nil
}
