package watch

import "github.com/sluice-go/sluice/cmd/sluice/internal/address"

// path is where package livepage's handler is by custom.
const path = "/debug/sluice"

// At returns the service at target (host:port, :port, or a URL, with or without a
// path) and the query of the URL, which may be copied from a browser. It does not
// connect.
func At(target string) (*Service, Query, error) {
	q := Query{Page: 1}
	base, err := address.Parse(target, path)
	if err != nil {
		return nil, q, err
	}
	if err := q.read(base.RawQuery); err != nil {
		return nil, q, err
	}
	base.RawQuery = ""
	return newService(base), q, nil
}
