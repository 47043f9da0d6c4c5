// Package redact shows URLs without what may be secret in them: a password, a token in
// place of a user name, or a query.
package redact

import (
	"errors"
	"net/url"
	"strings"
)

// Parse parses a URL. It fails also for an '@' after the host: after "user:1/b@h", the host would
// be user, and the rest of the password in the path. Its errors do not repeat the URL, unlike
// those of package url: any part of a URL that does not parse may belong to a password.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && u.Opaque == "" && !strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@") {
		return u, nil
	}
	if strings.Contains(text, "@") {
		return nil, errors.New("invalid URL: in a password or a path, percent-encode all but letters and digits, such as %2F for / and %40 for @")
	}
	return nil, errors.New("invalid URL")
}

// URL returns u without user, password, query and fragment.
func URL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
