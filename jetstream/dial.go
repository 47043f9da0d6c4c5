package jetstream

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice/internal/redact"
)

// dial connects to a list of servers as in nats.Connect. Its errors name them without user,
// password and token.
func dial(list string, options []nats.Option) (*nats.Conn, error) {
	shown, err := serversOf(list)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(list, options...)
	if errors.As(err, new(*url.Error)) { // one from an option, which the error repeats
		err = errors.New("invalid URL")
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cmp.Or(shown, "the embedded server"), err)
	}
	return nc, nil
}

// serversOf returns the servers of a list, for people. It fails if a URL is invalid. A URL with
// a user and without a scheme may be the rest of a password with a comma, so it may come only
// after others of its kind.
func serversOf(list string) (string, error) {
	var shown []string
	plain := false // the URL before has a scheme, or no user
	for i, text := range strings.Split(list, ",") {
		text = strings.TrimSpace(text)
		user, scheme := strings.Contains(text, "@"), strings.Contains(text, "://")
		if user && !scheme && plain {
			return "", fmt.Errorf("URL %d: invalid URL: it has a user and needs a scheme, such as nats://; in a password, write %%2C for a comma", i+1)
		}
		if plain = scheme || !user; text == "" {
			continue
		}
		if !scheme {
			text = "nats://" + text
		}
		u, err := redact.Parse(text)
		if err != nil {
			return "", fmt.Errorf("URL %d: %w", i+1, err)
		}
		shown = append(shown, redact.URL(u))
	}
	return strings.Join(shown, ","), nil
}

// Format shows the servers of the options without users, passwords and tokens.
func (o Options[T]) Format(f fmt.State, verb rune) {
	type fields Options[T]
	for _, list := range []*string{&o.URL, &o.System} {
		shown, err := serversOf(*list)
		if err != nil {
			shown = "(invalid)"
		}
		*list = shown
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), fields(o))
}
