package livepage

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// A hosts is the set of host names under which the page may be requested,
// besides IP addresses and localhost.
//
// It is the guard against DNS rebinding. A page at evil.example may run its
// script in the browser of somebody who can reach this program, and then let
// evil.example resolve to 127.0.0.1: to the browser, both are one origin, and the
// script can read the answers. The browser names evil.example as the Host of
// these requests, which a script cannot change. An attack requires a name: a
// request for an IP address has reached the address that the browser displays.
type hosts []string

// everyHost is the entry that allows every name.
const everyHost = "*"

// allow returns the set of the given names.
func allow(names []string) (hosts, error) {
	var out hosts
	for _, name := range names {
		clean := strings.ToLower(strings.TrimSuffix(name, "."))
		if name != everyHost && !isName(strings.TrimPrefix(clean, "*.")) {
			return nil, fmt.Errorf("invalid host %q (want a name without a port, such as orders.internal, or *.internal, or *)", name)
		}
		out = append(out, clean)
	}
	return out, nil
}

// isName reports whether name consists of the characters of host names. Names
// inside clusters may contain underscores.
func isName(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// has reports whether a request for host, the Host of the request, may be
// answered. An empty host is allowed: browsers always send one.
func (h hosts) has(host string) bool {
	name := hostName(host)
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.ContainsFunc(h, func(allowed string) bool {
		suffix, below := strings.CutPrefix(allowed, "*")
		return allowed == name || below && strings.HasSuffix(name, suffix)
	})
}

// hostName returns host without its port, in the form of an entry of hosts.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// foreign returns the reason why a request for host is refused.
func foreign(host string) string {
	const most = 100 // of the bytes of a name
	name := hostName(host)
	name = name[:min(len(name), most)]
	return fmt.Sprintf("host %q is refused, as a guard against DNS rebinding: request an IP address or localhost, or allow the name in the program with livepage.Handler(%q)", name, name)
}
