//go:build unix

package jetstream

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

// A serverRole is one server of a cluster, in a process of its own. Tests of an upgrade
// build this file with another version of nats-server (oldServer), so it uses nothing
// else of the package.
type serverRole struct {
	Name            string
	Host            string // loopback by default
	Port, RoutePort int
	Routes          []string
	// Hidden is an address without a listener. It is published as the address for routes,
	// and none for clients, so they use only the ones that they were configured with.
	Hidden string
	Dir    string
	Always bool // sync every write
	Log    bool // warnings and errors, on stderr
}

// serve runs the server until the standard input ends.
func (r serverRole) serve() error {
	host := cmp.Or(r.Host, "127.0.0.1")
	o := &server.Options{
		ServerName: r.Name, Host: host, Port: r.Port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: r.Dir, SyncAlways: r.Always,
		Cluster: server.ClusterOpts{Name: "three", Host: host, Port: r.RoutePort, Advertise: r.Hidden, NoAdvertise: r.Hidden != ""},
	}
	for _, route := range r.Routes {
		u, err := url.Parse(route)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.SetLogger(lastWords{r.Name, r.Log}, false, false)
	s.Start()
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// lastWords is a log of fatal errors, such as a port in use, which end the process:
// without a log, a server would stay without a listener.
type lastWords struct {
	name string
	more bool // warnings and errors, too
}

func (l lastWords) print(format string, args []any) {
	fmt.Fprintf(os.Stderr, "server "+l.name+": "+format+"\n", args...)
}

func (l lastWords) Fatalf(format string, args ...any) {
	l.print(format, args)
	os.Exit(1)
}

func (l lastWords) Errorf(format string, args ...any) {
	if l.more {
		l.print(format, args)
	}
}

func (l lastWords) Warnf(format string, args ...any) { l.Errorf(format, args...) }
func (lastWords) Noticef(string, ...any)             {}
func (lastWords) Debugf(string, ...any)              {}
func (lastWords) Tracef(string, ...any)              {}
